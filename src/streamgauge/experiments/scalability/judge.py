"""Whether a cell of the grid passes: every objective holds on the median of its repetitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from streamgauge.experiments.scalability.grid import Outcome
from streamgauge.measure.sustained import decide
from streamgauge.objectives import SIZES, Objective
from streamgauge.spec.trial import TrialResult


@dataclass(frozen=True)
class Judged:
    """What the trials of a cell say together."""

    outcome: Outcome
    reason: str
    """One sentence for people."""
    values: dict[str, float] = field(default_factory=dict)
    """Medians of the metrics that were bounded."""
    bounds: dict[str, float] = field(default_factory=dict)
    """What they were compared with."""


def missing(results: Sequence[TrialResult], repeats: int) -> int:
    """Return how many trials a cell still needs; an invalid one is repeated once.

    Wrong answers fail it at once.
    """
    usable = [result for result in results if not is_invalid(result)]
    if any(result.correct.holds is False for result in usable):
        return 0
    if len(results) > 1 and all(map(is_invalid, results[-2:])):
        return 0
    return repeats - len(usable)


def is_invalid(result: TrialResult) -> bool:
    """Return whether driver, clock or a service was the limit: that says nothing of the engine."""
    return decide(result).outcome == "invalid"


def judge(results: Sequence[TrialResult], objectives: Sequence[Objective]) -> Judged:
    """Decide a cell by its trials, once none of them is missing."""
    usable = [result for result in results if not is_invalid(result)]
    wrong = next((each for each in usable if each.correct.holds is False), None)
    if wrong is not None:
        return Judged("fail", wrong.correct.reason)
    if not usable or (len(results) > 1 and all(map(is_invalid, results[-2:]))):
        return Judged("untold", decide(results[-1]).reason)
    measured = {
        each.metric.name: median(_value(each, result) for result in usable) for each in objectives
    }
    sizes = _sizes(usable)
    values = {name: value for name, value in measured.items() if math.isfinite(value)}
    checked = [(each, each.check(values | sizes)) for each in objectives]
    limits = {each.metric.name: each.limit(sizes) for each in objectives}
    bounds = {name: limit for name, limit in limits.items() if limit is not None}
    missed = [result.reason for _, result in checked if not result.met]
    died = next((each for each in usable if each.status == "failed"), None)
    if missed and died is not None and not values:
        missed = [(died.cause or "the engine died").partition("\n")[0]]
    reasons = missed or [result.reason for _, result in checked]
    return Judged("fail" if missed else "pass", "; ".join(reasons), values, bounds)


def _value(objective: Objective, result: TrialResult) -> float:
    """Return what was measured; the worst value if the engine died or nothing was measured."""
    worst = math.inf if objective.operator.startswith("<") else -math.inf
    if result.status == "failed":
        return worst
    return result.metrics.get(objective.metric.name, worst)


def _sizes(results: Sequence[TrialResult]) -> dict[str, float]:
    """Return the median of each size that a bound may be a multiple of."""
    found = {
        name: [r.metrics[name] for r in results if name in r.metrics] for name in SIZES.values()
    }
    return {name: median(values) for name, values in found.items() if values}
