"""The events of live.jsonl: a trial begins, enters a phase, is sampled once a second, has ended.

They hold everything that a live view needs, so a view is a function of the lines of one file. Each
line carries `at`, the time in epoch seconds; a sample is a row of the trial's timeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from streamgauge.results.summary import reasons
from streamgauge.spec.experiment import Experiment, Explains, Outlines
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.spec.values import Json

Phase = Literal[
    "prepare",
    "send backlog",
    "start",
    "consume",
    "warm-up",
    "measure",
    "run on",
    "drain",
    "stop",
    "read back",
    "validate",
]
PHASES: tuple[Phase, ...] = get_args(Phase)
"""All phases that a trial may have, in their order; `phases_of` gives those of one."""
_ALONE = frozenset[Phase]({"send backlog", "read back"})
_OF_BACKLOG = frozenset[Phase]({"prepare", "send backlog", "start", "drain", "stop", "validate"})
_GATHERED = frozenset[Phase]({"consume", "warm-up", "read back"})
"""Phases that a trial lacks when its backlog gathers before the engine starts."""
_WITH_ENGINE = frozenset[Phase]({"consume", "drain", "validate"})
TOLD = ("latency.p50", "latency.p99")
"""Metrics of a finished trial that are shown next to its verdicts."""


def begins(
    trial: TrialSpec, experiment: Experiment, history: Sequence[TrialResult]
) -> dict[str, Json]:
    """Describe the trial that begins, why, and what is planned after it."""
    plan = () if isinstance(experiment, Outlines) else experiment.plan()
    following = next((each for each in plan if each.number > trial.number), None)
    return {
        "trial": trial.number,
        "planned": count_trials(experiment),
        "phases": list(phases_of(trial)),
        **_kind(trial, experiment, history),
        "next": None if following is None else _kind(following, experiment, history),
    }


def phases_of(trial: TrialSpec) -> tuple[Phase, ...]:
    """Return the phases of a trial: of a backlog, of a load, or of a load without an engine."""
    if trial.backlog:
        return tuple(phase for phase in PHASES if phase in _OF_BACKLOG)
    if trial.engine is None:
        return tuple(phase for phase in PHASES if phase not in _WITH_ENGINE | {"send backlog"})
    left_out = _GATHERED if trial.gathers else _ALONE
    return tuple(phase for phase in PHASES if phase not in left_out)


def count_trials(experiment: Experiment) -> int:
    """Count the trials that a run will have, if all goes well."""
    first = len(experiment.plan())
    if isinstance(experiment, Outlines):
        return first * sum(stage.trials for stage in experiment.outline())
    return first


def enters(trial: int, phase: Phase, lasts_s: float | None = None) -> dict[str, Json]:
    """Describe the phase that a trial enters, and how long it will take if that is planned."""
    return {"trial": trial, "phase": phase, "lasts_s": lasts_s}


def sampled(trial: int, row: Mapping[str, float]) -> dict[str, Json]:
    """Describe a sample; the row's own `at` is the event's."""
    return {"trial": trial, **row}


def ended(result: TrialResult, objectives: Sequence[str]) -> dict[str, Json]:
    """Describe the outcome of a trial: status, verdicts, the first reason against it."""
    spec = result.spec
    return {
        "trial": spec.number,
        "status": result.status,
        "query": spec.query,
        "rate": spec.rate,
        "repeat": spec.repeat,
        "valid": result.valid.holds,
        "correct": result.correct.holds,
        "kept_up": result.kept_up.holds,
        "reason": next((text.partition("\n")[0] for text in reasons(result, objectives)), None),
        "metrics": {name: result.metrics[name] for name in TOLD if name in result.metrics},
    }


def _kind(
    trial: TrialSpec, experiment: Experiment, history: Sequence[TrialResult]
) -> dict[str, Json]:
    why = experiment.why(trial, history) if isinstance(experiment, Explains) else None
    return {"query": trial.query, "rate": trial.rate, "repeat": trial.repeat, "why": why}
