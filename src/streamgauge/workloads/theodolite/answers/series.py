"""What sensors sent in each of their windows, as a whole or as it grew record by record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.workloads.theodolite.data import STEPS

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """Statistics of some records, row by row."""

    count: Integers
    total: Integers
    squares: Integers
    low: Integers
    high: Integers
    intended: Integers
    appended: Integers
    """The last two are the greatest of the records."""

    @classmethod
    def of_each(cls, steps: Integers, intended: Integers, appended: Integers) -> Summary:
        """Summarize every record by itself."""
        return cls(np.ones_like(steps), steps, steps * steps, steps, steps, intended, appended)

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
    """The rows of each sensor, attribute and window, each row in all windows that it lies in.

    Rows keep their order within a window.
    """

    def __init__(
        self,
        sensor: Integers,
        attribute: Integers,
        times_ms: Integers,
        window_ms: int,
        slide_ms: int,
    ) -> None:
        most = -(-window_ms // slide_ms)
        newest = times_ms // slide_ms
        first = int(newest.min(initial=np.iinfo(np.int64).max)) - most + 1
        window = (newest - first)[:, None] - np.arange(most)
        windows = int(window.max(initial=0)) + 1
        values = int(attribute.max(initial=0)) + 1
        code = ((sensor * values + attribute)[:, None] * windows + window).ravel()
        place = np.arange(len(code))
        if window_ms % slide_ms:
            inside = times_ms[:, None] < (window + first) * slide_ms + window_ms
            code, place = code[inside.ravel()], place[inside.ravel()]
        order = np.argsort(code, kind="stable")
        code, self._row = code[order], place[order] // most
        self._starts = np.flatnonzero(np.diff(code, prepend=-1))
        found = code[self._starts]
        self.start_ms = (found % windows + first) * slide_ms
        self.attribute = found // windows % values
        self.sensor = found // windows // values
        """Of each series: sensor, attribute, and when its window begins."""
        self.lengths = np.diff(self._starts, append=len(code))

    @property
    def places(self) -> Integers:
        """Return the series that each row of `each` belongs to."""
        return np.repeat(np.arange(len(self._starts)), self.lengths)

    def row(self, place: Integers, count: Integers) -> Integers:
        """Return the row in `each` that summarizes the first `count` rows of these series."""
        return self._starts[place] + count - 1

    def last(self, rows: Summary) -> Summary:
        """Summarize all rows of each series."""
        found, starts = rows.take(self._row), self._starts
        if not len(starts):
            return found
        return Summary(
            count=np.add.reduceat(found.count, starts),
            total=np.add.reduceat(found.total, starts),
            squares=np.add.reduceat(found.squares, starts),
            low=np.minimum.reduceat(found.low, starts),
            high=np.maximum.reduceat(found.high, starts),
            intended=np.maximum.reduceat(found.intended, starts),
            appended=np.maximum.reduceat(found.appended, starts),
        )

    def medians(self, values: Integers) -> Floats:
        """Return the median of the values of each series."""
        found = values[self._row]
        found = found[np.lexsort((found, self.places))]
        low, high = (self.lengths - 1) // 2, self.lengths // 2
        middle: Floats = (found[self._starts + low] + found[self._starts + high]) / 2
        return middle

    def each(self, rows: Summary) -> Summary:
        """Summarize, for each row of each series, this row and all before it."""
        found = rows.take(self._row)
        return Summary(
            count=self._summed(found.count),
            total=self._summed(found.total),
            squares=self._summed(found.squares),
            low=-self._greatest(-found.low),
            high=self._greatest(found.high),
            intended=self._greatest(found.intended),
            appended=self._greatest(found.appended),
        )

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
