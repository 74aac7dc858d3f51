"""Objectives: bounds on metrics, like `latency.p99<2s` or `lag.trend<0.05*rate`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamgauge.errors import UsageError
from streamgauge.metrics import Metric, metric
from streamgauge.units import parse_count

SIZES: Mapping[str, str] = {
    "rate": "rate.offered",
    "cores": "resources.cores",
    "instances": "resources.instances",
}
"""What a bound may be a multiple of, and the metric with its value in each trial."""
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_OBJECTIVE = re.compile(r"\s*([\w.-]+)\s*(<=|>=|<|>)\s*(\S.*?)\s*")
_MULTIPLE = re.compile(r"(\S+?)\s*\*\s*(\w+)")


@dataclass(frozen=True)
class ObjectiveResult:
    """Whether an objective was met, and why."""

    met: bool
    reason: str


@dataclass(frozen=True)
class Objective:
    """A bound on a metric: `latency.p99 < 2s`."""

    metric: Metric
    operator: str
    bound: float
    """The bound itself, or the factor of what it is a multiple of."""
    of: str | None = None
    """A name in SIZES; None for a bound that is the same for every trial."""

    def __str__(self) -> str:
        bound = f"{self.bound:g} * {self.of}" if self.of else self.metric.format(self.bound)
        return f"{self.metric.name} {self.operator} {bound}"

    def limit(self, metrics: Mapping[str, float]) -> float | None:
        """Return the bound of a trial; None if it is a multiple of an unknown size."""
        if self.of is None:
            return self.bound
        size = metrics.get(SIZES[self.of])
        return None if size is None else self.bound * size

    def holds(self, value: float, limit: float) -> bool:
        """Compare a value with the bound of its trial."""
        return _OPERATORS[self.operator](value, limit)

    def check(self, metrics: Mapping[str, float]) -> ObjectiveResult:
        """Compare with what was measured; a metric that is absent counts as missed."""
        value, limit = metrics.get(self.metric.name), self.limit(metrics)
        if value is None or limit is None:
            absent = self.metric.name if value is None else SIZES[self.of or ""]
            return ObjectiveResult(
                False, f"{absent} was not measured, or the sample does not carry it"
            )
        reason = f"{self.metric.name} is {self.metric.format(value)}"
        if self.of is not None:
            reason += f", and {self.bound:g} * {self.of} is {self.metric.format(limit)}"
        return ObjectiveResult(self.holds(value, limit), reason)


def parse_objective(text: str) -> Objective:
    """Read an objective like `latency.p99<2s` or `lag.trend<0.05*rate`."""
    match = _OBJECTIVE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{text!r} is not an objective",
            "Write it like 'latency.p99<2s' or 'lag.trend<0.05*rate'.",
        )
    bounded = metric(match[1])
    if multiple := _MULTIPLE.fullmatch(match[3]):
        return Objective(bounded, match[2], *_multiple(text, *multiple.groups()))
    return Objective(bounded, match[2], bounded.parse(match[3]))


def _multiple(text: str, factor: str, of: str) -> tuple[float, str]:
    if of not in SIZES:
        raise UsageError(
            f"{text!r}: a bound cannot be a multiple of {of}",
            f"Write FACTOR*NAME with one of {', '.join(SIZES)}.",
        )
    return parse_count(factor), of
