"""What sensors sent in each of their windows, as it grew record by record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.workloads.theodolite.data import STEPS

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Readings:
    """Records in the order of their logs, as columns."""

    sensor: Integers
    attribute: Integers
    timestamp: Integers
    steps: Integers
    appended: Integers


@dataclass(frozen=True)
class Summary:
    """What some records amount to."""

    count: Integers
    total: Integers
    squares: Integers
    low: Integers
    high: Integers
    intended: Integers
    appended: Integers
    """The last two are the greatest of the records."""

    def take(self, rows: Integers) -> Summary:
        """Return some rows."""
        return Summary(*(column[rows] for column in vars(self).values()))

    def numbers(self) -> tuple[Integers, Floats, Floats, Floats, Floats, Floats]:
        """Return count, sum, mean, smallest, greatest and population variance, in watts."""
        total = self.total / STEPS
        # Sums are exact; the variance takes a difference of them.
        count, exact = self.count.astype(np.longdouble), self.total.astype(np.longdouble)
        spread = self.squares.astype(np.longdouble) / count - (exact / count) ** 2
        variance = np.maximum(spread, 0).astype(np.float64) / STEPS**2
        return self.count, total, total / self.count, self.low / STEPS, self.high / STEPS, variance


class Series:
    """The records of each sensor, attribute and window, each record in all windows it lies in."""

    def __init__(self, readings: Readings, window_ms: int, slide_ms: int) -> None:
        overlap = window_ms // slide_ms
        newest = readings.timestamp // slide_ms
        first = int(newest.min(initial=0)) - overlap + 1
        window = (newest - first)[:, None] - np.arange(overlap)
        windows = int(window.max(initial=0)) + 1
        values = int(readings.attribute.max(initial=0)) + 1
        code = (readings.sensor * values + readings.attribute)[:, None] * windows + window
        row = np.repeat(np.arange(len(readings.sensor)), overlap)
        order = np.argsort(code.ravel(), kind="stable")
        code, self._row = code.ravel()[order], row[order]
        self._readings = readings
        self._starts = np.flatnonzero(np.diff(code, prepend=-1))
        found = code[self._starts]
        self.start_ms = (found % windows + first) * slide_ms
        self.attribute = found // windows % values
        self.sensor = found // windows // values
        """Of each of them: sensor, attribute, and when its window begins."""
        self.lengths = np.diff(self._starts, append=len(code))

    @property
    def places(self) -> Integers:
        """Return which of them each record of `each` belongs to."""
        return np.repeat(np.arange(len(self._starts)), self.lengths)

    def row(self, place: Integers, count: Integers) -> Integers:
        """Return the row in `each` of the first so many records of each of these."""
        return self._starts[place] + count - 1

    def last(self) -> Summary:
        """Summarize all records of each."""
        steps, starts = self._steps, self._starts
        if not len(starts):
            return Summary(*(np.zeros(0, dtype=np.int64) for _ in range(7)))
        return Summary(
            count=self.lengths,
            total=np.add.reduceat(steps, starts),
            squares=np.add.reduceat(steps * steps, starts),
            low=np.minimum.reduceat(steps, starts),
            high=np.maximum.reduceat(steps, starts),
            intended=np.maximum.reduceat(self._readings.timestamp[self._row], starts),
            appended=np.maximum.reduceat(self._readings.appended[self._row], starts),
        )

    def each(self) -> Summary:
        """Summarize, for each record of each, this one and all before it."""
        steps = self._steps
        return Summary(
            count=np.arange(len(self._row)) - np.repeat(self._starts, self.lengths) + 1,
            total=self._summed(steps),
            squares=self._summed(steps * steps),
            low=-self._greatest(-steps),
            high=self._greatest(steps),
            intended=self._greatest(self._readings.timestamp[self._row]),
            appended=self._greatest(self._readings.appended[self._row]),
        )

    @property
    def _steps(self) -> Integers:
        return self._readings.steps[self._row]

    def _summed(self, values: Integers) -> Integers:
        sums = np.cumsum(values)
        before = sums[self._starts] - values[self._starts]
        return sums - np.repeat(before, self.lengths)

    def _greatest(self, values: Integers) -> Integers:
        """Return the greatest so far: each series is lifted above the one before."""
        if not len(values):
            return values
        least = int(values.min())
        lift = self.places * (int(values.max()) - least + 1)
        return np.maximum.accumulate(values - least + lift) - lift + least
