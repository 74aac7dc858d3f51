"""Cautions about a run that is possible, for the reader of its results."""

from __future__ import annotations

import os

from streamgauge.planning.parts import trials_of
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialSpec


def cautions(spec: RunSpec) -> list[str]:
    """Say what keeps resources from being used as asked for."""
    trials = list(trials_of(spec))
    several = dict.fromkeys(trial.resources.instances for trial in trials if uneven(trial))
    found = []
    if several:
        found.append(_uneven(spec.partitions, ", ".join(map(str, several))))
    if SparkEndpoint.service not in spec.services:
        found += _shared(trials)
    return found


def uneven(trial: TrialSpec) -> str | None:
    """Return a caution if some instances read more partitions than others."""
    instances = trial.resources.instances
    if instances is None or trial.partitions % instances == 0:
        return None
    return _uneven(trial.partitions, str(instances))


def _uneven(partitions: int, instances: str) -> str:
    return (
        f"{partitions} partition(s) are not a multiple of {instances} instances: some read more"
        " than others, and capacity grows in steps (--partitions)"
    )


def _shared(trials: list[TrialSpec]) -> list[str]:
    """Return a caution if instances on this machine would share its CPUs."""
    cpus = len(os.sched_getaffinity(0))
    cut = max((_cores(trial) for trial in trials), default=0)
    if cut <= cpus:
        return []
    return [
        f"instances with {cut} cores in all exceed this machine's {cpus}: beyond that they share"
        " CPUs, and more instances add no capacity"
    ]


def _cores(trial: TrialSpec) -> int:
    resources = trial.resources
    return (resources.instances or 0) * resources.instance_cores
