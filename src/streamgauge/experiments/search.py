"""The search for the highest rate that holds: bracket, bisect, confirm; a pure function.

A search is replayed from the trials so far, so that an interrupted one can continue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from streamgauge.measure.sustained import Outcome

Role = Literal["guess", "bracket", "widen", "bisect", "repeat", "confirm", "latency"]
Limit = Literal["engine", "harness", "search"]

BRACKET = (0.5, 1.1)
"""Shares of the guess at which the search begins."""
WIDENED = (2, 8, 64, 1024)
"""Factors by which an end that does not hold is moved from its first place, one after the other."""
MOST_TRIALS = 30
"""A search that has not settled by then never will."""
_DIGITS = 3
_ROUNDING = 1.01
"""A workload that rounds a rate changes it by less."""


@dataclass(frozen=True)
class Ends:
    """Where the search begins, and how far either end may be moved."""

    low: float
    high: float
    lower: tuple[float, ...] = ()
    higher: tuple[float, ...] = ()

    @classmethod
    def around(cls, guess: float) -> Ends:
        """Begin around a guess; the ends can be moved."""
        low, high = (rounded(share * guess) for share in BRACKET)
        return cls(
            low,
            high,
            tuple(rounded(low / factor) for factor in WIDENED),
            tuple(rounded(high * factor) for factor in WIDENED),
        )


@dataclass(frozen=True)
class Thoroughness:
    """How exact the answer is to be."""

    tolerance: float = 0.05
    """The bracket is narrow enough when its ends differ by no more than this share."""
    confirmations: int = 3

    def bisections(self, ends: Ends) -> int:
        """Count how often the bracket has to be halved, if it holds."""
        halves = math.log(ends.high / ends.low) / math.log(1 + self.tolerance)
        return max(0, math.ceil(math.log2(halves)))


@dataclass(frozen=True)
class Tried:
    """One trial at a rate."""

    rate: float
    outcome: Outcome


@dataclass(frozen=True)
class Step:
    """What to try next."""

    rate: float
    role: Role
    shape: str | None = None
    """The load's shape; None for a constant rate."""
    times: int = 1
    """How many times as long as usual; an inconclusive trial is repeated once for twice as long."""


@dataclass(frozen=True)
class Found:
    """How a search ended."""

    rate: float | None
    """The highest rate that holds, confirmed; None when there is none."""
    interval: tuple[float | None, float | None]
    """It holds at the first, and no longer at the second."""
    limit: Limit
    """What keeps it from being higher; the engine itself, unless no rate could be tried."""


@dataclass
class _Rate:
    """What the trials at one rate say together."""

    passes: int = 0
    outcome: Literal["pass", "fail", "invalid"] | None = None
    again: int = 0
    """How many times as long as usual the last trial has to be repeated; 0 for not at all."""
    spoiled: bool = False
    """Whether the last trial was invalid: a single event may have disturbed it."""

    def add(self, tried: Tried) -> None:
        """Add one more trial; a rate that is inconclusive twice has failed."""
        times, self.again = max(1, self.again), 0
        before, self.spoiled = self.spoiled, tried.outcome == "invalid"
        if self.spoiled and not before:
            self.again = times
        elif tried.outcome == "inconclusive" and times == 1:
            self.again = 2
        elif tried.outcome == "pass":
            self.passes += 1
            self.outcome = self.outcome or "pass"
        else:
            self.outcome = "invalid" if tried.outcome == "invalid" else "fail"


@dataclass
class Search:
    """One search, as far as it has come."""

    ends: Ends
    thoroughness: Thoroughness = Thoroughness()
    rates: dict[float, _Rate] = field(default_factory=dict)
    trials: int = 0
    last: float | None = None

    def add(self, tried: Tried) -> None:
        """Add one more trial."""
        self.trials += 1
        self.last = tried.rate
        self.rates.setdefault(tried.rate, _Rate()).add(tried)

    @property
    def high(self) -> float | None:
        """The lowest rate that does not hold."""
        return min((r for r, tried in self.rates.items() if _is_over(tried)), default=None)

    @property
    def low(self) -> float | None:
        """The highest rate below it that holds."""
        high = self.high or math.inf
        held = (r for r, tried in self.rates.items() if tried.outcome == "pass" and r < high)
        return max(held, default=None)

    def next(self) -> Step | None:
        """Return what to try next; None when the search is over."""
        if self.trials >= MOST_TRIALS:
            return None
        if self.last is not None and (again := self.rates[self.last].again):
            return Step(self.last, "repeat", times=again)
        low, high = self.low, self.high
        if low is None:
            return self._lower(high)
        if high is None and (step := self._higher(low)):
            return step
        if high is not None and high / low > 1 + self.thoroughness.tolerance:
            return Step(rounded(math.sqrt(low * high)), "bisect")
        return None if self._is_confirmed(low) else Step(low, "confirm")

    def found(self) -> Found | None:
        """Return the answer; None while the search goes on."""
        if self.next() is not None:
            return None
        low, high = self.low, self.high
        if low is None or not self._is_confirmed(low):
            all_invalid = all(tried.outcome == "invalid" for tried in self.rates.values())
            return Found(None, (low, high), "harness" if all_invalid else "engine")
        if high is None:
            return Found(low, (low, None), "search")
        invalid = self.rates[high].outcome == "invalid"
        return Found(low, (low, high), "harness" if invalid else "engine")

    def _lower(self, high: float | None) -> Step | None:
        if high is None:
            return Step(self.ends.low, "bracket")
        lower = next((rate for rate in self.ends.lower if rate < high), None)
        return None if lower is None else Step(lower, "widen")

    def _higher(self, low: float) -> Step | None:
        beyond = low * _ROUNDING
        if self.ends.high > beyond:
            return Step(self.ends.high, "bracket")
        higher = next((rate for rate in self.ends.higher if rate > beyond), None)
        return None if higher is None else Step(higher, "widen")

    def _is_confirmed(self, rate: float) -> bool:
        """The trial that found the rate does not count: it was chosen because it passed."""
        return self.rates[rate].passes > self.thoroughness.confirmations


def rounded(rate: float) -> float:
    """Keep three digits, so that a rate is printed as it was used."""
    return float(f"{rate:.{_DIGITS}g}")


def _is_over(told: _Rate) -> bool:
    return told.outcome in ("fail", "invalid")
