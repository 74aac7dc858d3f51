"""The three power signals of a machine: synthetic, with the shape of the DEBS 2012 recording.

mf01 is a slow drift with inrush pulses on top, mf02 follows it, mf03 holds plateaus of its own.
What a query selects on is dealt out rather than left to chance, so that every seed has it:
pulses are added until the wanted share of mf01 is above the limit of q3, and the levels of mf03
are spread over its rows by quantile, which fixes the share below the limit of q4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MF01_ERROR_LIMIT = 14_963
"""q3 reports rows above it: the 99.5th percentile of the recording."""
MF03_STANDBY_LIMIT = 8_105
"""q4 reports rows below it: the 9th percentile of the recording."""

ROWS_PER_SECOND = 100

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
    """Hold one value per row for each signal, and the machine step each row belongs to."""

    mf01: Ints
    mf02: Ints
    mf03: Ints
    step: Ints
    """Number of the mf03 plateau; the other sensors change with it."""


def make(count: int, rng: np.random.Generator) -> Signals:
    """Make `count` rows of the three signals."""
    base = drift(count, rng)
    mf01 = np.rint(np.clip(base + pulses(base, rng), *_MF01_RANGE))
    mf02 = np.rint(1.132 * mf01 - 398 + rng.normal(0, 31, count))
    lengths = plateau_lengths(count, rng)
    step = np.repeat(np.arange(len(lengths)), lengths)[:count]
    levels = plateau_levels(lengths, mf01, rng)
    mf03 = np.rint(np.clip(levels[step] + rng.normal(0, _MF03_NOISE_SD, count), *_MF03_RANGE))
    return Signals(mf01.astype(np.int64), mf02.astype(np.int64), mf03.astype(np.int64), step)


def drift(count: int, rng: np.random.Generator) -> Floats:
    """Wander slowly around the median of mf01, evenly over its ordinary range."""
    knots = count // _ROWS_PER_KNOT + 2
    heights = _DRIFT_REACH * (2 * (rng.permutation(knots) + 0.5) / knots - 1)
    rows = np.arange(count)
    return _DRIFT_CENTRE + np.interp(rows, np.arange(knots) * _ROWS_PER_KNOT, heights)


def pulses(base: Floats, rng: np.random.Generator) -> Floats:
    """Add inrush pulses until the wanted share of rows is above the limit of q3."""
    count = len(base)
    slots = max(1, count // _ROWS_PER_PULSE_SLOT)
    offsets = rng.integers(0, max(1, min(count, _ROWS_PER_PULSE_SLOT) - _PULSE_ROWS), slots)
    starts = rng.permutation(np.arange(slots) * _ROWS_PER_PULSE_SLOT + offsets)
    shapes = pulse_shapes(slots, rng)
    shapes[0] = _twin(shapes[shapes.max(axis=1).argmax()], base[starts[0]], rng)
    rows = starts[:, None] + np.arange(_PULSE_ROWS)
    inside = np.minimum(rows, count - 1)
    above = np.sum((base[inside] + shapes > MF01_ERROR_LIMIT) & (rows < count), axis=1)
    used = _nearest_prefix(above, _ERROR_SHARE * count)
    total = np.zeros(count + _PULSE_ROWS)
    total[rows[:used]] = shapes[:used]
    return total[:count]


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


def plateau_levels(lengths: Ints, mf01: Floats, rng: np.random.Generator) -> Floats:
    """Deal out the levels of mf03 in an order that does not correlate with mf01."""
    starts = np.cumsum(lengths) - lengths
    load = np.add.reduceat(mf01, starts) - mf01.mean() * np.diff(starts, append=len(mf01))
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
    """Tell how many of the sizes, from the first, add up most nearly to the target."""
    sums = np.concatenate(([0], np.cumsum(sizes)))
    return int(np.argmin(np.abs(sums - target)))
