"""The three power signals of a machine: synthetic, with the shape of the DEBS 2012 recording.

mf01 is a slow drift with inrush pulses on top, mf02 follows it, mf03 holds plateaus of its own.
What a query selects on is dealt out rather than left to chance, so that every seed has it:
pulses are added until the wanted share of mf01 is above the limit of q3, and the levels of mf03
are spread over its rows by quantile, which fixes the share below the limit of q4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Shorts = NDArray[np.int16]
"""Wide enough for every value of a signal."""

MF01_ERROR_LIMIT = 14_963
"""q3 reports rows above it: the 99.5th percentile of the recording."""
MF03_STANDBY_LIMIT = 8_105
"""q4 reports rows below it: the 9th percentile of the recording."""

ROWS_PER_SECOND = 100
_ROWS_PER_PIECE = 1 << 16

_MF01_RANGE = (12_400, 19_500)
_MF03_RANGE = (7_275, 9_390)
_ERROR_SHARE = 0.0045

_DRIFT_CENTRE = 13_036
_DRIFT_REACH = 610
# Within 500 rows so slow a drift looks nearly constant: that is what makes 6-8 % of the rows
# stochastic outliers. Knots closer together or white noise on mf01 would give about 10 %.
_ROWS_PER_KNOT = 2_500

_ROWS_PER_PULSE_SLOT = 4_000
_PULSE_ROWS = 400

# Row-weighted quantiles of mf03: most of it within 7900-8800, 8.5 % below the limit of q4.
_MF03_SHARES = (0.0, 0.004, 0.083, 0.3, 0.7, 0.996, 1.0)
_MF03_LEVELS = (7_290, 7_900, MF03_STANDBY_LIMIT - 0.5, 8_250, 8_450, 8_800, 9_375)
_MF03_NOISE_SD = 5.0


@dataclass(frozen=True)
class Signals:
    """Hold one value per row for each signal, and where the machine's steps end."""

    mf01: Shorts
    mf02: Shorts
    mf03: Shorts
    step_ends: Ints
    """Row after each plateau of mf03; the other sensors change with it."""

    def step(self, first: int, end: int) -> Ints:
        """Number the steps to which the rows from `first` to before `end` belong."""
        return _steps(self.step_ends, np.arange(first, end))


def make(count: int, rng: np.random.Generator) -> Signals:
    """Make `count` rows of the three signals."""
    mf01 = _mf01(count, rng)
    mf02 = np.empty(count, np.int16)
    for rows in _pieces(count):
        mf02[rows] = np.rint(1.132 * mf01[rows] - 398 + rng.normal(0, 31, len(rows)))
    lengths = plateau_lengths(count, rng)
    ends = np.cumsum(lengths)
    levels = plateau_levels(lengths, _loads(mf01, ends), rng)
    mf03 = np.empty(count, np.int16)
    for rows in _pieces(count):
        noisy = levels[_steps(ends, rows)] + rng.normal(0, _MF03_NOISE_SD, len(rows))
        mf03[rows] = np.rint(np.clip(noisy, *_MF03_RANGE))
    return Signals(mf01, mf02, mf03, ends)


def _pieces(count: int) -> Iterator[Ints]:
    """Number the rows, some at a time, so that only what is kept of them takes much memory."""
    for first in range(0, count, _ROWS_PER_PIECE):
        yield np.arange(first, min(first + _ROWS_PER_PIECE, count))


def _steps(ends: Ints, rows: Ints) -> Ints:
    return np.searchsorted(ends, rows, side="right")


def _mf01(count: int, rng: np.random.Generator) -> Shorts:
    base = drift(count, rng)
    inrush = pulses(count, base, rng)
    mf01 = np.empty(count, np.int16)
    for rows in _pieces(count):
        mf01[rows] = np.rint(base(rows))
    mf01[inrush.rows] = np.rint(np.clip(base(inrush.rows) + inrush.heights, *_MF01_RANGE))
    return mf01


def drift(count: int, rng: np.random.Generator) -> Callable[[Ints], Floats]:
    """Wander slowly around the median of mf01, evenly over its ordinary range."""
    knots = count // _ROWS_PER_KNOT + 2
    heights = _DRIFT_REACH * (2 * (rng.permutation(knots) + 0.5) / knots - 1)
    places = np.arange(knots) * _ROWS_PER_KNOT
    return lambda rows: _DRIFT_CENTRE + np.interp(rows, places, heights)


@dataclass(frozen=True)
class Pulses:
    """Hold the rows that have an inrush pulse, and how much it adds."""

    rows: Ints
    heights: Floats


def pulses(count: int, base: Callable[[Ints], Floats], rng: np.random.Generator) -> Pulses:
    """Add inrush pulses, one after the other, until enough rows are above the limit of q3."""
    slots = max(1, count // _ROWS_PER_PULSE_SLOT)
    offsets = rng.integers(0, max(1, min(count, _ROWS_PER_PULSE_SLOT) - _PULSE_ROWS), slots)
    starts = rng.permutation(np.arange(slots) * _ROWS_PER_PULSE_SLOT + offsets)
    shapes = pulse_shapes(slots, rng)
    highest = shapes[shapes.max(axis=1).argmax()]
    shapes[0] = _twin(highest, float(base(starts[:1])[0]), rng)
    rows = starts[:, None] + np.arange(_PULSE_ROWS)
    inside = rows < count
    above = np.sum((base(rows) + shapes > MF01_ERROR_LIMIT) & inside, axis=1)
    used = _nearest_prefix(above, _ERROR_SHARE * count)
    return Pulses(rows[:used][inside[:used]], shapes[:used][inside[:used]])


def pulse_shapes(number: int, rng: np.random.Generator) -> Floats:
    """Draw pulses: a linear rise of 2-5k in 0.1-0.28 s, then halved every 0.15-0.25 s."""
    height = rng.permutation(np.linspace(2_000, 5_000, number + 2)[1:-1])[:, None]
    rise_rows = rng.integers(10, 29, number)[:, None]
    half_life_rows = rng.uniform(15, 25, number)[:, None]
    row = np.arange(1, _PULSE_ROWS + 1)
    decay = np.exp2(-np.maximum(row - rise_rows, 0) / half_life_rows)
    shapes: Floats = height * np.minimum(row / rise_rows, 1.0) * decay
    return shapes


def plateau_lengths(count: int, rng: np.random.Generator) -> Ints:
    """Draw plateaus of 1-3 s that cover `count` rows; the last may reach beyond."""
    shortest, longest = ROWS_PER_SECOND, 3 * ROWS_PER_SECOND
    lengths = rng.integers(shortest, longest + 1, count // shortest + 1)
    needed = int(np.searchsorted(np.cumsum(lengths), count)) + 1
    return lengths[:needed]


def _loads(mf01: Shorts, ends: Ints) -> Floats:
    """Return for each step how far mf01 is above its mean, summed over the step's rows."""
    sums, sizes = np.zeros(len(ends)), np.zeros(len(ends), np.int64)
    for rows in _pieces(len(mf01)):
        steps = _steps(ends, rows)
        sums += np.bincount(steps, mf01[rows], len(ends))
        sizes += np.bincount(steps, minlength=len(ends))
    loads: Floats = sums - mf01.mean() * sizes
    return loads


def plateau_levels(lengths: Ints, load: Floats, rng: np.random.Generator) -> Floats:
    """Deal out the levels of mf03 in an order that does not correlate with the load."""
    attempts = [_shuffled_levels(lengths, rng) for _ in range(8)]
    return min(attempts, key=lambda levels: abs(float(load @ (levels - levels.mean()))))


def _shuffled_levels(lengths: Ints, rng: np.random.Generator) -> Floats:
    order = rng.permutation(len(lengths))
    ends = np.cumsum(lengths[order])
    levels = np.empty(len(lengths))
    levels[order] = np.interp((ends - lengths[order] / 2) / ends[-1], _MF03_SHARES, _MF03_LEVELS)
    return levels


def _twin(first: Floats, base: float, rng: np.random.Generator) -> Floats:
    """Let a second pulse begin at the peak of `first`: the highest values of the recording."""
    peak = int(first.argmax())
    shape = min(pulse_shapes(8, rng), key=np.argmax)  # the steepest: the first is still high
    second = np.concatenate((np.zeros(peak), shape / shape.max()))[:_PULSE_ROWS]
    missing = _MF01_RANGE[1] - 100 - base - first[second.argmax()]
    both: Floats = first + np.clip(missing, 2_000, 5_000) * second
    return both


def _nearest_prefix(sizes: Ints, target: float) -> int:
    """Return how many of the sizes, from the first, add up closest to the target."""
    sums = np.concatenate(([0], np.cumsum(sizes)))
    return int(np.argmin(np.abs(sums - target)))
