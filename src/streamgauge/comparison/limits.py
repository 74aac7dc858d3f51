"""How much worse a metric may become: `latency.p99:+5%`, for pipelines that must notice."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from streamgauge.comparison.compare import Compared, Comparison, Pair
from streamgauge.errors import UsageError
from streamgauge.metrics import metric

_LIMIT = re.compile(r"\s*([\w.-]+)\s*:\s*([+-])\s*(\d+(?:\.\d*)?)\s*%\s*")

LimitOutcome = Literal["held", "exceeded", "unknown"]


@dataclass(frozen=True)
class Limit:
    """A metric may grow (or shrink) by at most a share of the base."""

    metric: str
    factor: float
    """Above 1 the largest allowed ratio, below 1 the smallest."""

    def __str__(self) -> str:
        return f"{self.metric}:{100 * (self.factor - 1):+g}%"

    def exceeded(self, low: float, high: float) -> bool:
        """Return whether a whole interval is beyond the limit."""
        return low > self.factor if self.factor >= 1 else high < self.factor


@dataclass(frozen=True)
class Checked:
    """The outcome of a limit for one query at one rate."""

    limit: str
    other: str
    place: str
    outcome: LimitOutcome
    reason: str


def parse_limit(text: str) -> Limit:
    """Read a limit like `latency.p99:+5%` or `rate.emitted:-2%`."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a limit", "Write it like 'latency.p99:+5%'.")
    share = float(f"{match[2]}{match[3]}") / 100
    if share <= -1:
        raise UsageError(f"{text!r}: a decrease of 100 % is impossible", "Write a smaller one.")
    return Limit(metric(match[1]).name, 1 + share)


def check_limits(limits: Sequence[Limit], comparisons: Sequence[Comparison]) -> list[Checked]:
    """Check each limit for each query of each comparison."""
    return [
        checked
        for limit in limits
        for comparison in comparisons
        for checked in _check(limit, comparison)
    ]


def exit_code(checked: Sequence[Checked]) -> int:
    """Return 4 when something is unknown, else 1 when a limit was exceeded, else 0."""
    outcomes = {each.outcome for each in checked}
    if "unknown" in outcomes:
        return 4
    return 1 if "exceeded" in outcomes else 0


def _check(limit: Limit, comparison: Comparison) -> Iterator[Checked]:
    name = str(limit)
    if not comparison.pairs:
        yield Checked(name, comparison.other, "everywhere", "unknown", "there is no finished trial")
    for pair in comparison.pairs:
        yield Checked(name, comparison.other, pair.name, *_outcome(limit, pair))


def _outcome(limit: Limit, pair: Pair) -> tuple[LimitOutcome, str]:
    if pair.obstacles:
        return "unknown", f"not comparable, because {'; '.join(pair.obstacles)}"
    found = next((each for each in pair.metrics if each.metric == limit.metric), None)
    if found is None or found.ratio is None:
        return "unknown", f"{limit.metric} was not measured on both sides"
    if found.ratio.low is None or found.ratio.high is None:
        return "unknown", f"too few trials ({_trials(found)})"
    low, high = found.ratio.low, found.ratio.high
    words = f"the ratio is {_number(low)} to {_number(high)}"
    return ("exceeded" if limit.exceeded(low, high) else "held"), words


def _trials(found: Compared) -> str:
    return " and ".join(str(side.trials) for side in (found.base, found.other) if side)


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"
