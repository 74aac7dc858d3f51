"""What is decided about a trial before it runs: by its workload, its engine, its acts."""

from __future__ import annotations

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.planning.parts import load_workload, trial_job, trial_services
from streamgauge.spec.trial import ActSpec, TrialSpec
from streamgauge.spec.workload import PlansTrials
from streamgauge.units import format_duration


def settle(trial: TrialSpec) -> TrialSpec:
    """Return the trial as it will run, with notes on what was changed; settled ones stay the same.

    Raises:
        UsageError: It cannot run with these settings.
    """
    workload = load_workload(trial.workload)
    notes: list[str] = []
    if isinstance(workload, PlansTrials):
        trial, notes = workload.plan(trial)
    return trial.model_copy(
        update={
            "mode": None if trial.engine is None else trial_job(trial).mode,
            "acts": tuple(sorted(trial.acts, key=lambda act: act.at_s)),
            "notes": (*trial.notes, *notes),
        }
    )


def check_acts(trial: TrialSpec) -> None:
    """Refuse what cannot be done while the trial's load lasts."""
    for act in trial.acts:
        _check_act(act, trial)


def _check_act(act: ActSpec, trial: TrialSpec) -> None:
    if not 0 <= act.at_s <= trial.load_s:
        raise UsageError(
            f"the act {act.name} is due at {act.at_s:g} s,"
            f" but the load of {trial.query} lasts from 0 to {trial.load_s:g} s",
            f"Choose an at_s within {format_duration(trial.load_s)}.",
        )
    registry.load("acts", act.name)
    there = trial_services(trial)
    if act.service not in there:
        raise UsageError(
            f"the act {act.name} needs {act.service}, which a trial of {trial.query} does not have",
            f"Services of that trial: {', '.join(there) or 'none'}.",
        )
