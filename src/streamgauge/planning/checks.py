"""Refuses what cannot work, by asking the parts that will have to do it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.load import arrivals
from streamgauge.load.settings import check_load
from streamgauge.objectives import parse_objective
from streamgauge.planning.parts import (
    experiment_type,
    load_experiment,
    load_workload,
    trials_of,
)
from streamgauge.planning.trial import check_acts, settle
from streamgauge.spec.experiment import Concludes, SearchesGrid, Sweeps
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import ResourceSpec, TrialSpec


def check(spec: RunSpec) -> None:
    """Refuse a run that cannot work.

    Raises:
        UsageError: It cannot.
    """
    for objective in spec.objectives:
        parse_objective(objective)
    if spec.profile is not None:
        registry.load("profilers", spec.profile)
        if spec.engine is None:
            raise UsageError("there is no engine to profile", "Leave out --profile.")
    _check_experiment(spec)
    load_experiment(spec)  # refuses what it would ignore
    trials = trials_of(spec)
    registry.transport(spec.transport)
    _check_parameters(spec, trials)
    for trial in _once(trials):
        _check_trial(trial)


def _check_experiment(spec: RunSpec) -> None:
    """Refuse what the experiment would ignore."""
    name, experiment = spec.experiment, experiment_type(spec.experiment)
    if isinstance(experiment, SearchesGrid):
        return
    if spec.objectives and isinstance(experiment, Concludes):
        raise UsageError(
            f"{name} gives an answer of its own: objectives do not apply",
            "Use them with -x fixed-rate, at the rate that was found.",
        )
    if isinstance(experiment, Sweeps):
        return
    if spec.variants:
        names = dict.fromkeys(name for each in spec.variants for name in each.factors)
        raise UsageError(
            f"{name} varies only the rate: {' and '.join(names)} must have one value",
            "Start a run for each value, or use -x fixed-rate.",
        )
    if spec.repeats > 1:
        raise UsageError(f"{name} itself decides what to repeat", "Leave out --repeats.")


def _check_trial(trial: TrialSpec) -> None:
    _check_resources(trial.resources)
    check_load(trial.load)
    workload = load_workload(trial.workload)
    query = workload.queries[trial.query]
    registry.transport(trial.transport).check(trial, query, workload)
    arrivals.check(trial)
    settled = settle(trial)
    arrivals.check(settled)
    check_acts(settled)


def _check_resources(resources: ResourceSpec) -> None:
    cores, there = resources.cores, len(os.sched_getaffinity(0))
    if cores is not None and cores > there:
        raise UsageError(
            f"--cores {cores}: this machine has {there}", "Ask for no more, or leave it out."
        )
    if resources.instances is None:
        usual = ResourceSpec()
        for name in ("instance_cores", "instance_memory"):
            if getattr(resources, name) == getattr(usual, name):
                continue
            raise UsageError(
                f"--{name.replace('_', '-')} applies to each instance, but there are none",
                "Add --instances N, or use --cores for an engine in one process.",
            )
    elif cores is not None:
        raise UsageError(
            "--cores is for an engine in one process, and --instances for several",
            "Use --instance-cores with --instances.",
        )


def _once(trials: Iterable[TrialSpec]) -> Iterator[TrialSpec]:
    """Leave out repeats: they are all the same."""
    return (trial for trial in trials if trial.repeat == 1)


def _check_parameters(spec: RunSpec, trials: Iterable[TrialSpec]) -> None:
    """Let the workload check its parameters, once for each combination of them."""
    different = {json.dumps(trial.parameters, sort_keys=True): trial for trial in trials}
    for trial in different.values():
        load_workload(spec.workload).check(trial.parameters)
