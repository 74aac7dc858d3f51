"""What a run needs before anything is started: its engine, its profiler, room."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from streamgauge import machine, registry
from streamgauge.errors import NotReady
from streamgauge.load import arrivals
from streamgauge.planning import (
    load_engine,
    load_profiler,
    load_workload,
    settle,
    trial_job,
    trials_of,
)
from streamgauge.services import runtime
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.spec.engine import Fetches
from streamgauge.spec.jobs import Problem
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialSpec
from streamgauge.trial.bench import Announce
from streamgauge.units import format_size


def check_ready(spec: RunSpec, runs: Path, listen: Announce) -> None:
    """Refuse to start what could not finish; let the engine fetch what it needs."""
    prepare_engine(spec, listen)
    for name in dict.fromkeys(trial.profile for trial in trials_of(spec)):
        prepare_profiler(name)
    check_room(spec, runs)


def prepare_engine(spec: RunSpec, listen: Announce) -> None:
    """Let the engine fetch what it needs; refuse to start when it lacks something."""
    if spec.engine is None:
        return
    engine = load_engine(spec.engine)
    _refuse_unready(f"engine {spec.engine}", engine.check())
    if isinstance(engine, Fetches):
        jobs = [trial_job(trial) for trial in trials_of(spec)]
        engine.fetch(jobs, lambda text: listen({"note": text}))


def prepare_profiler(name: str | None) -> None:
    """Refuse to start when the chosen profiler lacks something."""
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
            f"{format_size(available)} of memory is available; a trial needs {format_size(needed)}",
            "stop other programs",
        )
    trials = (trial for trial in trials_of(spec) if trial.repeat == 1)
    check_disk([settle(trial) for trial in trials], runs)


def _instances_bytes(spec: RunSpec) -> int:
    """Return how much of this machine's memory the engine's instances take in the largest trial."""
    if SparkEndpoint.service in spec.services:
        return 0
    given = (trial.resources for trial in trials_of(spec))
    return max((each.instances or 0) * each.instance_memory for each in given)


def check_disk(trials: Sequence[TrialSpec], runs: Path) -> None:
    """Refuse to continue when the largest of these trials would not fit on the disks."""
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
    """Return how much a trial may write."""
    streams = len(load_workload(trial.workload).queries[trial.query].streams)
    transport = registry.transport(trial.transport)
    return transport.disk_bytes(trial, streams, arrivals.records(trial))
