"""Whether a latency grows over the measured span: a robust slope and its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from streamgauge.measure.statistics import Floats, medians

if TYPE_CHECKING:
    from streamgauge.spec.trial import Growth
    from streamgauge.spec.values import Span

BLOCKS = 15
FEWEST_BLOCKS = 10
LIMIT = 0.01
"""Seconds per second: a latency that grows faster than this is not sustained."""
_RESAMPLES = 2000
_RESIDUALS_PER_DRAW = 3
_SEED = 20_210_419

Decision = Literal["none", "trend", "undecided"]


@dataclass(frozen=True)
class Trend:
    """A slope in seconds per second, its 90 % interval and what follows from it."""

    slope: float | None
    """None, like the limits, where there are too few blocks."""
    low: float | None
    high: float | None
    blocks: int
    """Blocks of the measured span that have outputs."""
    decision: Decision


def in_words(growth: Trend | Growth) -> str:
    """Write a slope with its interval."""
    return f"{growth.slope:.3g} s/s (90 % interval {growth.low:.3g} to {growth.high:.3g})"


def trend(at_ms: npt.NDArray[np.int64], values_s: Floats, span: Span, seed: int = _SEED) -> Trend:
    """Decide whether values rise over the span, from the medians of 15 blocks of time."""
    x, y = block_medians(at_ms, values_s, span)
    if len(x) < FEWEST_BLOCKS:
        return Trend(None, None, None, len(x), "undecided")
    slope = float(_slopes(x, y[np.newaxis])[0])
    low, high = _interval(x, y, slope, seed)
    return Trend(slope, low, high, len(x), _decide(low, high))


def block_medians(
    at_ms: npt.NDArray[np.int64], values_s: Floats, span: Span
) -> tuple[Floats, Floats]:
    """Return middle, in seconds from the span's start, and median of each block with values."""
    length_ms = (span.end_ms - span.start_ms) / BLOCKS
    inside = (at_ms >= span.start_ms) & (at_ms < span.end_ms)
    block = ((at_ms[inside] - span.start_ms) / length_ms).astype(np.int64).clip(max=BLOCKS - 1)
    order = np.argsort(block, kind="stable")
    present, begins = np.unique(block[order], return_index=True)
    parts = np.split(values_s[inside][order], begins[1:]) if len(present) else []
    middles = (present + 0.5) * length_ms / 1000
    return middles, np.array([np.median(part) for part in parts], dtype=np.float64)


def _slopes(x: Floats, ys: Floats) -> Floats:
    """Return the Theil–Sen slope of each row of `ys`: the median over all pairs of points."""
    left, right = np.triu_indices(len(x), k=1)
    return medians((ys[:, right] - ys[:, left]) / (x[right] - x[left]))


def _interval(x: Floats, y: Floats, slope: float, seed: int) -> tuple[float, float]:
    """Resample the residuals in runs of three, because neighbours resemble each other.

    A line with two free parameters removes about 2·3/n of the variance of such runs. That is
    restored: otherwise the interval holds the true slope in only two of three cases.
    """
    residuals = (y - slope * x) / np.sqrt(1 - 2 * _RESIDUALS_PER_DRAW / len(x))
    per_series = -(-len(x) // _RESIDUALS_PER_DRAW)
    starts = np.random.default_rng(seed).integers(
        0, len(x) - _RESIDUALS_PER_DRAW + 1, size=(_RESAMPLES, per_series)
    )
    drawn = (starts[:, :, np.newaxis] + np.arange(_RESIDUALS_PER_DRAW)).reshape(_RESAMPLES, -1)
    low, high = np.quantile(_slopes(x, slope * x + residuals[drawn[:, : len(x)]]), [0.05, 0.95])
    return float(low), float(high)


def _decide(low: float, high: float) -> Decision:
    if high < LIMIT:
        return "none"
    return "trend" if low > LIMIT else "undecided"
