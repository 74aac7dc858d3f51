"""The trials of a search: how its bracket closed, and which ones its answer rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from streamgauge.experiments.searches import SearchAnswer
from streamgauge.spec.experiment import Interval

Kind = Literal["pass", "fail", "invalid", "inconclusive", "probe"]


@dataclass(frozen=True)
class Rung:
    """One trial of a search."""

    trial: int
    role: str
    rate: float
    kind: Kind
    reason: str
    was_repeated: bool
    """Whether it was tried once more, because this time said nothing about the rate."""


def latency_trials(search: SearchAnswer) -> Sequence[int]:
    """Return the numbers of the trials that tell the latency at and below the rate found."""
    return [each.trial for each in search.latency]


def rungs(search: SearchAnswer) -> list[Rung]:
    """Return the trials of a search in their order."""
    next_roles = [*(trial.role for trial in search.trials[1:]), None]
    return [
        Rung(
            trial=trial.trial,
            role=trial.role,
            rate=trial.rate,
            kind=trial.outcome or "probe",
            reason=trial.reason,
            was_repeated=next_role == "repeat" or trial.role == next_role == "probe",
        )
        for trial, next_role in zip(search.trials, next_roles, strict=False)
    ]


def brackets(search: SearchAnswer) -> list[Interval]:
    """Return how far the bracket had closed after each trial."""
    closing = list(_closing(rungs(search)))
    low, high = search.interval  # knows whether the last trial has yet to be repeated
    return [*closing[:-1], (low, high)] if closing else []


def carrying(search: SearchAnswer) -> list[Rung]:
    """Return the trials that the answer rests on: none above the rate that held."""
    low, _ = search.interval
    if low is None:
        return []
    told = [rung for rung in rungs(search) if rung.kind != "probe" and not rung.was_repeated]
    return [rung for rung in told if rung.rate <= low]


def _closing(trials: Sequence[Rung]) -> Iterator[Interval]:
    held: set[float] = set()
    over: set[float] = set()
    for rung in trials:
        if rung.role not in ("probe", "latency") and not rung.was_repeated:
            (held if rung.kind == "pass" else over).add(rung.rate)
        high = min(over, default=None)
        below = (rate for rate in held if high is None or rate < high)
        yield max(below, default=None), high
