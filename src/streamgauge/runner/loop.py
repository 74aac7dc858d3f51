"""The loop over the trials of a run: its beginning, its end, resuming, Ctrl-C."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from streamgauge import machine, registry
from streamgauge.errors import Interrupted, NotReady, Unmeasured
from streamgauge.planning import cautions, load_engine, load_experiment, load_workload, settle
from streamgauge.process import asked_to_end
from streamgauge.results import events
from streamgauge.results.csv import write_tables
from streamgauge.results.folder import RunFolder, RunRecord, RunStatus
from streamgauge.runner import ceilings
from streamgauge.runner.placement import cluster_place
from streamgauge.runner.readiness import check_disk, check_ready
from streamgauge.runner.services import ServiceSet
from streamgauge.services import runtime
from streamgauge.services.choice import service as service_of
from streamgauge.services.running import RunningService
from streamgauge.services.service import Startable
from streamgauge.spec.endpoints import Endpoint
from streamgauge.spec.experiment import Concludes, Experiment, FindsCeiling
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.trial.bench import Announce, Bench, Event
from streamgauge.trial.run import run_trial
from streamgauge.trial.watch import Clock
from streamgauge.validation.session import Session


def start(
    spec: RunSpec,
    runs: Path,
    command: Sequence[str],
    listen: Announce,
    services: Sequence[Startable],
    clock: Clock | None = None,
) -> RunFolder:
    """Run an experiment from its beginning and return its folder."""
    check_ready(spec, runs, listen)
    for caution in cautions(spec):
        listen({"note": caution})
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
    """Resume an interrupted run; finished trials are kept."""
    spec = folder.record().spec
    check_ready(spec, folder.path.parent, listen)
    with machine.exclusive(f"resume {folder.name}"):
        folder.adopt()
        _go_on(folder, listen, services, clock, resumed=True)
    return folder


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
    """Run the remaining trials."""
    spec = folder.record().spec
    experiment = load_experiment(spec)
    with _concluded(folder, experiment), ExitStack() as stack:
        announce = stack.enter_context(_live(folder, listen))
        spark = stack.enter_context(Session(folder.path))
        running = stack.enter_context(ServiceSet(services, folder.path / "logs"))
        while (following := experiment.next_trial(folder.trials())) is not None:
            trial = settle(following)
            running.fit(trial.resources)
            bench = _bench(running.all_up(), spark, trial, folder.name, clock or Clock())
            if resumed:
                registry.transport(trial.transport).clear(bench.endpoints, bench.prefix)
                resumed = False
            check_disk([trial], folder.path.parent)
            announce(events.begins(trial, experiment, folder.trials()))
            result = run_trial(trial, bench, folder.trial_folder(trial.number), announce)
            folder.write_trial(result)
            write_tables(folder.path, folder.trials())
            announce(events.ended(result, spec.objectives))


def _bench(
    services: Mapping[str, RunningService[Endpoint]],
    spark: Session,
    trial: TrialSpec,
    prefix: str,
    clock: Clock,
) -> Bench:
    """Return what a trial needs, with the session where it belongs."""
    spark.move(cluster_place(trial, services))
    return Bench(
        services=services,
        spark=spark.get,
        cache=runtime.cache_dir() / "data",
        prefix=prefix,
        clock=clock,
        release=spark.release,
    )


@contextmanager
def _concluded(folder: RunFolder, experiment: Experiment) -> Iterator[None]:
    """Record in run.json how the run ended, whatever happens."""
    record = folder.record()
    status: RunStatus = "interrupted"
    broken: Exception | None = None
    try:
        yield
        status = _status(folder.trials(), experiment)
    except KeyboardInterrupt:
        raise _interrupted(folder) from None
    except Exception as error:
        if asked_to_end():  # an interrupted library may fail with its own error
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
        "interrupted", f"Resume it: streamgauge run --resume {shlex.quote(str(folder.path))}"
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
    """Write events to live.jsonl, and pass them to the listener."""
    with folder.live.open("a", buffering=1, encoding="utf-8") as file:

        def announce(event: Event) -> None:
            stamped = {"at": time.time(), **event}
            file.write(json.dumps(stamped) + "\n")
            listen(stamped)

        yield announce
