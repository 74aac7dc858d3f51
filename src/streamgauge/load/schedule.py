"""When each record is due: pure arithmetic on whole milliseconds, without drift.

A schedule gives the intended time of record i, in milliseconds after the load's start, and how
many records are due by then. Both agree: `due(t)` counts exactly the records whose intended time
is t or earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol, overload

import numpy as np
import numpy.typing as npt

_SMALLEST_STEP = 10_000
"""Rates are multiples of a fraction no finer than this, so that int64 lasts for 10^11 records."""


class Schedule(Protocol):
    """The arrival times of one stream's records."""

    @overload
    def intended_ms(self, record: int) -> int: ...
    @overload
    def intended_ms(self, record: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...

    def due(self, elapsed_ms: int) -> int:
        """Count the records that are due when that time has passed since the start."""


@dataclass(frozen=True)
class Constant:
    """The same number of records every second."""

    rate: float
    """Records per second."""

    def __post_init__(self) -> None:
        if not self._exact > 0:
            raise ValueError(f"a rate of {self.rate}/s sends nothing")

    @cached_property
    def _exact(self) -> Fraction:
        return Fraction(self.rate).limit_denominator(_SMALLEST_STEP)

    @overload
    def intended_ms(self, record: int) -> int: ...
    @overload
    def intended_ms(self, record: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...

    def intended_ms(self, record: int | npt.NDArray[np.int64]) -> int | npt.NDArray[np.int64]:
        """Return the intended time of a record, or of many, from the start."""
        return record * (1000 * self._exact.denominator) // self._exact.numerator

    def due(self, elapsed_ms: int) -> int:
        """Count the records that are due when that time has passed since the start."""
        if elapsed_ms < 0:
            return 0
        # Record i is due by t iff i * 1000 / rate < t + 1, since its time is rounded down.
        return -(-(elapsed_ms + 1) * self._exact.numerator // (1000 * self._exact.denominator))


@dataclass(frozen=True, eq=False)
class Tabled:
    """Any shape: the number of records due by each millisecond, looked up."""

    counts: npt.NDArray[np.int64]
    """Records due once 0, 1, 2 … milliseconds have passed; nothing comes after the last."""

    def __post_init__(self) -> None:
        if not len(self.counts) or not self.counts[-1]:
            raise ValueError("a schedule without records sends nothing")
        if self.counts[0] < 0 or np.any(self.counts[1:] < self.counts[:-1]):
            raise ValueError("a schedule cannot go backward")

    @overload
    def intended_ms(self, record: int) -> int: ...
    @overload
    def intended_ms(self, record: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...

    def intended_ms(self, record: int | npt.NDArray[np.int64]) -> int | npt.NDArray[np.int64]:
        """Return the intended time of a record, or of many; past the last it is the end."""
        found = self.counts.searchsorted(record, side="right")
        return int(found) if isinstance(record, int) else found

    def due(self, elapsed_ms: int) -> int:
        """Count the records that are due when that time has passed since the start."""
        return 0 if elapsed_ms < 0 else int(self.counts[min(elapsed_ms, len(self.counts) - 1)])


@dataclass(frozen=True)
class Share:
    """One sender's part of a schedule: every n-th record, so that nothing is left over."""

    whole: Schedule
    number: int
    """Position among the senders, from 0."""
    of: int
    """How many senders there are."""

    @overload
    def intended_ms(self, record: int) -> int: ...
    @overload
    def intended_ms(self, record: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...

    def intended_ms(self, record: int | npt.NDArray[np.int64]) -> int | npt.NDArray[np.int64]:
        """Return the intended time of a record of this part, or of many."""
        return self.whole.intended_ms(self.number + record * self.of)

    def due(self, elapsed_ms: int) -> int:
        """Count the records of this part that are due."""
        return max(0, -((self.number - self.whole.due(elapsed_ms)) // self.of))
