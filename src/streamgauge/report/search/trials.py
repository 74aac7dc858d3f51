"""The trials of a search: how its bracket closed, and which ones its answer rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from streamgauge.experiments.search_answer import SearchAnswer
from streamgauge.spec.experiment import Interval

Kind = Literal["pass", "fail", "invalid", "inconclusive", "guess"]


@dataclass(frozen=True)
class ShownTrial:
    """One trial of a search."""

    number: int
    role: str
    rate: float
    kind: Kind
    reason: str
    was_repeated: bool
    """Whether it was tried once more, because this attempt said nothing about the rate."""


def latency_trials(search: SearchAnswer) -> Sequence[int]:
    """Return the numbers of the trials that give the latency at and below the rate found."""
    return [each.trial for each in search.latency]


def shown_trials(search: SearchAnswer) -> list[ShownTrial]:
    """Return the trials of a search in their order."""
    next_roles = [*(trial.role for trial in search.trials[1:]), None]
    return [
        ShownTrial(
            number=trial.trial,
            role=trial.role,
            rate=trial.rate,
            kind=trial.outcome or "guess",
            reason=trial.reason,
            was_repeated=next_role == "repeat" or trial.role == next_role == "guess",
        )
        for trial, next_role in zip(search.trials, next_roles, strict=False)
    ]


def brackets(search: SearchAnswer) -> list[Interval]:
    """Return how far the bracket had closed after each trial."""
    closing = list(_closing(shown_trials(search)))
    low, high = search.interval  # knows whether the last trial has yet to be repeated
    return [*closing[:-1], (low, high)] if closing else []


def carrying(search: SearchAnswer) -> list[ShownTrial]:
    """Return the trials that the answer rests on: none above the rate that held."""
    low, _ = search.interval
    if low is None:
        return []
    passed = [
        trial for trial in shown_trials(search) if trial.kind != "guess" and not trial.was_repeated
    ]
    return [trial for trial in passed if trial.rate <= low]


def _closing(trials: Sequence[ShownTrial]) -> Iterator[Interval]:
    held: set[float] = set()
    over: set[float] = set()
    for trial in trials:
        if trial.role not in ("guess", "latency") and not trial.was_repeated:
            (held if trial.kind == "pass" else over).add(trial.rate)
        high = min(over, default=None)
        below = (rate for rate in held if high is None or rate < high)
        yield max(below, default=None), high
