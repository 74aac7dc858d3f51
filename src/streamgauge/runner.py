"""One run: the machine's lock, services across trials, the loop over trials, resuming, Ctrl-C."""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from streamgauge import machine, registry
from streamgauge.errors import Interrupted, NotReady, Unmeasured
from streamgauge.load import arrivals
from streamgauge.planning import (
    load_engine,
    load_experiment,
    load_profiler,
    load_workload,
    settle,
    trial_job,
)
from streamgauge.process import asked_to_end
from streamgauge.results import ceiling as ceilings
from streamgauge.results import events
from streamgauge.results.csv import write_tables
from streamgauge.results.folder import RunFolder, RunRecord, RunStatus
from streamgauge.services import runtime
from streamgauge.services.choice import service as service_of
from streamgauge.services.service import Embedded, RunningService, Sized, Startable, start_all
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.spec.endpoints import Endpoint
from streamgauge.spec.engine import Fetches, Problem
from streamgauge.spec.experiment import Concludes, Experiment, FindsCeiling
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Counts, ResourceSpec, TrialResult, TrialSpec
from streamgauge.trial.again import validate_again
from streamgauge.trial.bench import Announce, Bench, Event
from streamgauge.trial.run import run_trial
from streamgauge.trial.watch import Clock
from streamgauge.units import format_size
from streamgauge.validation.session import Place, Session

if TYPE_CHECKING:
    pass


def start(
    spec: RunSpec,
    runs: Path,
    command: Sequence[str],
    listen: Announce,
    services: Sequence[Startable],
    clock: Clock | None = None,
) -> RunFolder:
    """Run an experiment from its beginning and return its folder."""
    prepare_engine(spec, listen)
    prepare_profiler(spec.profile)
    check_room(spec, runs)
    with machine.exclusive(" ".join(command)):
        facts = _facts(spec, services)
        known = {"ceiling": ceilings.known(facts, spec, _inputs(spec))}
        version = load_workload(spec.workload).version
        folder = RunFolder.create(runs, spec, list(command), {**facts, **known}, version)
        _go_on(folder, listen, services, clock)
    return folder


def resume(
    folder: RunFolder,
    listen: Announce,
    services: Sequence[Startable],
    clock: Clock | None = None,
) -> RunFolder:
    """Go on with a run that was interrupted; finished trials are kept."""
    spec = folder.record().spec
    prepare_engine(spec, listen)
    prepare_profiler(spec.profile)
    check_room(spec, folder.path.parent)
    with machine.exclusive(f"resume {folder.name}"):
        folder.adopt()
        _go_on(folder, listen, services, clock, resumed=True)
    return folder


def validate_run(folder: RunFolder, tell: Callable[[int], None]) -> dict[int, Counts]:
    """Validate every finished trial of a run once more, from its kept records."""
    folder.record()  # refuses what another version wrote
    done = [result for result in folder.trials() if result.status == "done"]
    found = {}
    with TemporaryDirectory(dir=runtime.data_dir()) as place, Session(Path(place)) as session:
        for result in done:
            number = result.spec.number
            tell(number)
            again = validate_again(session.get(), folder.trial_folder(number), result)
            found[number] = again.counts
    return found


def prepare_engine(spec: RunSpec, listen: Announce) -> None:
    """Let the engine fetch what it needs; refuse to start when it lacks something."""
    if spec.engine is None:
        return
    engine = load_engine(spec.engine)
    _refuse_unready(f"engine {spec.engine}", engine.check())
    if isinstance(engine, Fetches):
        jobs = [trial_job(trial) for trial in load_experiment(spec).plan()]
        engine.fetch(jobs, lambda text: listen({"note": text}))


def _facts(spec: RunSpec, services: Sequence[Startable]) -> dict[str, Any]:
    """Describe the machine, with versions of the engine and of services that we start ourselves."""
    facts: dict[str, Any] = dict(machine.describe())
    versions = {} if spec.engine is None else {spec.engine: load_engine(spec.engine).versions()}
    ours = (each.name for each in services if each.name not in spec.services)
    versions |= {name: service_of(name).versions() for name in ours}
    for owner, each in versions.items():
        for key, version in each.items():
            same = facts.get(key, version) == version
            facts[key if same else f"{owner} {key}"] = version
    return facts


def prepare_profiler(name: str | None) -> None:
    """Refuse to start when the profiler that is wanted lacks something."""
    if name is not None:
        _refuse_unready(f"profiler {name}", load_profiler(name).check())


def _refuse_unready(what: str, problems: Sequence[Problem]) -> None:
    if problems:
        raise NotReady(
            f"{what} is not ready: {'; '.join(problem.what for problem in problems)}",
            "; ".join(problem.remedy for problem in problems),
        )


def check_room(spec: RunSpec, runs: Path) -> None:
    """Refuse to start when the largest trial would not fit on the disks or into memory."""
    available = machine.available_memory()
    needed = machine.NEEDED_MEMORY + _instances_bytes(spec)
    if available < needed:
        raise NotReady(
            f"{format_size(available)} of memory are available;"
            f" a trial needs {format_size(needed)}",
            "end what else is running",
        )
    trials = (trial for trial in load_experiment(spec).plan() if trial.repeat == 1)
    check_disk([settle(trial) for trial in trials], runs)


def _instances_bytes(spec: RunSpec) -> int:
    """Tell how much memory the engine's instances take of this machine, in the largest trial."""
    if SparkEndpoint.service in spec.services:
        return 0
    given = (trial.resources for trial in load_experiment(spec).plan())
    return max((each.instances or 0) * each.instance_memory for each in given)


def check_disk(trials: Sequence[TrialSpec], runs: Path) -> None:
    """Refuse to go on when the largest of these trials would not fit on the disks."""
    needed = max(map(_topic_bytes, trials)) + machine.NEEDED_DISK
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotReady(
            f"cannot write to {runs}: {error.strerror}", "Choose another with --runs-dir."
        ) from None
    for place in (runs, runtime.data_dir()):
        free = shutil.disk_usage(place).free
        if free < needed:
            raise NotReady(
                f"{place} has {format_size(free)} free; a trial may need {format_size(needed)}",
                "make room, shorten the trial or lower the rate",
            )


def _topic_bytes(trial: TrialSpec) -> int:
    """Tell how much a trial may write."""
    streams = len(load_workload(trial.workload).queries[trial.query].streams)
    transport = registry.transport(trial.transport)
    return transport.disk_bytes(trial, streams, arrivals.records(trial))


def _inputs(spec: RunSpec) -> dict[str, Sequence[str]]:
    """Return the input streams of each query."""
    queries = load_workload(spec.workload).queries
    return {name: queries[name].streams for name in spec.queries}


def _go_on(
    folder: RunFolder,
    listen: Announce,
    services: Sequence[Startable],
    clock: Clock | None,
    *,
    resumed: bool = False,
) -> None:
    """Run the trials that are still to be run; whatever happens, run.json tells the state."""
    record = folder.record()
    experiment = load_experiment(record.spec)
    status: RunStatus = "interrupted"
    broken: Exception | None = None
    try:
        with ExitStack() as stack:
            announce = stack.enter_context(_live(folder, listen))
            spark = stack.enter_context(Session(folder.path))
            running = stack.enter_context(ServiceSet(services, folder.path / "logs"))
            while (following := experiment.next_trial(folder.trials())) is not None:
                trial = settle(following)
                running.fit(trial.resources)
                alive = running.all_up()
                spark.move(cluster_place(trial, alive))
                bench = Bench(
                    services=alive,
                    spark=spark.get,
                    cache=runtime.cache_dir() / "data",
                    prefix=folder.name,
                    clock=clock or Clock(),
                    release=spark.release,
                )
                if resumed:
                    registry.transport(trial.transport).clear(bench.endpoints, bench.prefix)
                    resumed = False
                check_disk([trial], folder.path.parent)
                announce(events.begins(trial, experiment, folder.trials()))
                path = folder.trial_folder(trial.number)
                result = run_trial(trial, bench, path, announce)
                folder.write_trial(result)
                write_tables(folder.path, folder.trials())
                announce(events.ended(result, record.spec.objectives))
        status = _status(folder.trials(), experiment)
    except KeyboardInterrupt:
        raise _interrupted(folder) from None
    except Exception as error:
        if asked_to_end():  # a library that is interrupted may fail in a way of its own
            raise _interrupted(folder) from error
        status, broken = "failed", error
        if isinstance(error, OSError):
            raise NotReady(
                f"cannot write to {folder.path}: {error}", "Make room on the disk."
            ) from error
        raise
    finally:
        _conclude(folder, record, experiment, status, broken)


def _interrupted(folder: RunFolder) -> Interrupted:
    return Interrupted(
        "interrupted", f"Go on with it: streamgauge run --resume {shlex.quote(str(folder.path))}"
    )


def _conclude(
    folder: RunFolder,
    record: RunRecord,
    experiment: Experiment,
    status: RunStatus,
    broken: Exception | None = None,
) -> None:
    """Write how the run ended; `broken` is what ended it between trials."""
    results = folder.trials()
    warnings = list(dict.fromkeys(text for result in results for text in result.warnings))
    if broken is not None:
        warnings.append(f"the run broke off: {broken or type(broken).__name__}")
    answer = experiment.answer(results).model_dump(mode="json") if results else {}
    if isinstance(experiment, FindsCeiling) and (rate := experiment.ceiling(results)) is not None:
        streams, *_ = _inputs(record.spec).values()
        ceilings.remember(record.machine, record.spec, streams, rate)
    folder.write(
        record.model_copy(update={"status": status, "answer": answer, "warnings": warnings})
    )


def _status(results: Sequence[TrialResult], experiment: Experiment) -> RunStatus:
    found = {result.status for result in results}
    if isinstance(experiment, Concludes):
        if experiment.exit_code(results) != Unmeasured.exit_code:
            return "done"
        return "failed" if found == {"failed"} else "invalid"
    return "failed" if "failed" in found else "invalid" if "invalid" in found else "done"


@contextmanager
def _live(folder: RunFolder, listen: Announce) -> Iterator[Announce]:
    """Write what happens to live.jsonl, and tell the listener."""
    with folder.live.open("a", buffering=1, encoding="utf-8") as file:

        def announce(event: Event) -> None:
            stamped = {"at": time.time(), **event}
            file.write(json.dumps(stamped) + "\n")
            listen(stamped)

        yield announce


def cluster_place(
    trial: TrialSpec, services: Mapping[str, RunningService[Endpoint]]
) -> Place | None:
    """Return where answers are checked: on the cluster of the engine's instances, if it has any.

    On a given one as much is taken as the engine will need: so it is seen to be there.
    """
    resources, cluster = trial.resources, services.get(SparkEndpoint.service)
    if resources.instances is None or cluster is None:
        return None
    endpoint = SparkEndpoint.of(cluster.endpoint)
    if cluster.members:
        return Place(endpoint, resources.instances, resources.instance_cores)
    slots = trial_job(trial).instance_slots or resources.instance_cores
    return Place(endpoint, resources.instances, slots, resources.instance_memory)


class ServiceSet:
    """The services of a run, kept across trials and started again when one has died.

    The logs of those that we start stay in the run's folder.
    """

    def __init__(self, services: Sequence[Startable], logs: Path) -> None:
        self._services = list(services)
        for service in self._services:
            if isinstance(service, Embedded):
                service.options = replace(service.options, log_dir=logs)
        self._running: dict[str, RunningService[Endpoint]] = {}
        self._stacks: dict[str, ExitStack] = {}

    def fit(self, resources: ResourceSpec) -> None:
        """Let services have the size that a trial needs; those of another size are ended."""
        for service in self._services:
            if isinstance(service, Sized) and service.fit(resources):
                self._end(service.name)
                self._running.pop(service.name, None)

    def all_up(self) -> dict[str, RunningService[Endpoint]]:
        """Return the services by name, every one alive."""
        down = self._down()
        for service in reversed(down):  # what is left of the last try, each before what it needs
            self._end(service.name)
        start_all(down, self._running, self._fresh_stack)
        return dict(self._running)

    def _down(self) -> list[Startable]:
        """Return what has to be started: what is not up, and what needs that."""
        down: dict[str, Startable] = {}
        for service in self._services:
            running = self._running.get(service.name)
            useless = running is None or running.lost() or running.trouble()
            if useless or any(name in down for name in service.needs):
                down[service.name] = service
        return list(down.values())

    def _end(self, name: str) -> None:
        if name in self._stacks:
            self._stacks.pop(name).close()

    def _fresh_stack(self, name: str) -> ExitStack:
        """Return what will end a service."""
        self._stacks[name] = ExitStack()
        return self._stacks[name]

    def __enter__(self) -> ServiceSet:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as all_of_them:
            for stack in self._stacks.values():
                all_of_them.push(stack)
