"""The methods by which overlapping windows are computed: what each costs, and which to take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

Method = Literal["bucket", "slices", "pairs"]
METHODS: tuple[Method, ...] = get_args(Method)
METHOD, OVERLAP, ADDITIONS = "method", "method.overlap", "method.additions"
"""Settings of a trial: the method, how many windows overlap, and what is added for each record."""
SIZE, SLIDE, PER_SECOND = "method.size_ms", "method.slide_ms", "method.per_second"
"""And what a method is chosen by: the windows, and the records of a key in a second."""


@dataclass(frozen=True)
class Hopping:
    """Windows of a size that begin at every multiple of a slide."""

    size_ms: int
    slide_ms: int

    @property
    def overlap(self) -> float:
        """Return how many windows a record lies in, on average."""
        return self.size_ms / self.slide_ms

    @property
    def piece_ms(self) -> int:
        """Return the length of the longest equal slices that every window is made of."""
        return math.gcd(self.size_ms, self.slide_ms)

    @property
    def rest_ms(self) -> int:
        """Return how long after the beginning of a window another one ends; 0 for together."""
        return self.size_ms % self.slide_ms

    def slice_starts_ms(self, times_ms: Integers) -> Integers:
        """Return where the slice of each time begins that is cut by windows' beginnings and ends.

        Windows begin at the beginning of a slide, and others end so long after it as is left over
        of their size.
        """
        within = times_ms % self.slide_ms
        after_an_end = within >= self.rest_ms
        return times_ms - within + np.where(after_an_end, self.rest_ms, 0)

    def first_end_ms(self, time_ms: int) -> int:
        """Return the end of the first window that a time lies in."""
        return time_ms - (time_ms - self.rest_ms) % self.slide_ms + self.slide_ms

    def ends_ms(self, time_ms: int) -> range:
        """Return the ends of all windows that a time lies in."""
        last_ms = time_ms - time_ms % self.slide_ms + self.size_ms
        return range(self.first_end_ms(time_ms), last_ms + 1, self.slide_ms)

    def slices(self, method: Method) -> float:
        """Return how many slices a method cuts a slide into; whole windows are no slices."""
        if method == "bucket":
            return 0.0
        if method == "slices":
            return self.slide_ms / self.piece_ms
        return 2.0 if self.rest_ms else 1.0


@dataclass(frozen=True)
class Windowed:
    """What is put into windows."""

    windows: Hopping
    of_key: float
    """Records of a key in a second."""
    rate: float
    """Records of all keys in a second."""


@dataclass(frozen=True)
class Cost:
    """What a method takes, in microseconds."""

    record: float
    """To read a record, and to add it to its slice if there are slices."""
    addition: float
    """To add a record to a window, or a row of the state to another."""
    batch: float = 0.0
    """What a batch takes beyond its records, more than with `bucket`."""


COSTS: Mapping[Method, Cost] = {
    "bucket": Cost(record=8.5, addition=0.12),
    "slices": Cost(record=8.5, addition=0.38, batch=150_000),
    "pairs": Cost(record=17.0, addition=0.07),
}
"""Rough: only how they compare counts. `-x backlog` fits those of a machine."""
_BATCH = 60_000
"""Records of a batch, where a second has no more; the costs above were fitted to such batches."""
_MORE_ROWS = 20
"""Rows of a key that a batch touches beside those of the windows that its last record lies in."""
_ROW = 2
"""Additions that a row of the state is counted as."""


def additions(method: Method, windowed: Windowed) -> float:
    """Return how often something is added to a window, for each record.

    `bucket` adds each record to every window that it lies in. Spark then sums up those of a batch
    that have the same key and window before it looks up the row of its state. The others look up
    rows of slices alone. A row stands for as many records as a key has in a slide or slice.

    Args:
        method: How the windows are computed.
        windowed: What they are computed of.
    """
    windows = windowed.windows
    slices = windows.slices(method)
    together = windowed.of_key * windows.slide_ms / 1000 / (slices or 1.0)
    rows = (windows.overlap + _MORE_ROWS) / max(1.0, together)
    return rows if slices else windows.overlap + _ROW * rows


def cost_us(method: Method, windowed: Windowed) -> float:
    """Return what a record costs by the model, in microseconds."""
    cost = COSTS[method]
    batch = cost.batch / max(windowed.rate, _BATCH)
    return cost.record + cost.addition * additions(method, windowed) + batch


def cheapest(windowed: Windowed, among: Sequence[Method] = METHODS) -> Method:
    """Return the method that costs least by the model."""
    return min(among, key=lambda method: cost_us(method, windowed))


def choices(store: str | None) -> list[Method]:
    """Return the methods that may be chosen where state is kept in a store; None for any."""
    return [each for each in METHODS if store != "memory" or each != "pairs"]


def fitted(points: Sequence[tuple[float, float]]) -> Cost | None:
    """Fit both costs to what was measured, by the least squares of the relative errors.

    Args:
        points: Additions for each record, and the microseconds that a record took.

    Returns:
        None where there are not two different numbers of additions.
    """
    if len({added for added, _ in points}) < 2:
        return None
    added, took_us = np.array(points, dtype=np.float64).T
    terms = np.stack([1 / took_us, added / took_us], axis=1)
    (record, addition), *_ = np.linalg.lstsq(terms, np.ones(len(points)))
    if min(record, addition) >= 0:
        return Cost(float(record), float(addition))
    # One of them explains nothing: then the other one does it alone.
    term = terms[:, 1 if record < 0 else 0]
    alone = float(term.sum() / (term @ term))
    return Cost(0.0, alone) if record < 0 else Cost(alone, 0.0)
