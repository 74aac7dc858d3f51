"""The ratio of a metric between two sets of trials, and how certain it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streamgauge.measure.statistics import Floats, medians

FEWEST_TRIALS = 3
"""On each side; fewer give a ratio without an interval."""
CONFIDENCE = 0.95
_RESAMPLES = 2000
_SEED = 20_210_419


@dataclass(frozen=True)
class Ratio:
    """The median of one side divided by the other's; no limits if there are too few trials."""

    value: float
    low: float | None = None
    high: float | None = None
    """Infinite where the smaller side may be 0."""


def ratio(base: Floats, other: Floats, tick: float = 0.0, seed: int = _SEED) -> Ratio:
    """Divide the median of the other's trials by the base's; resample both for limits.

    Args:
        base: A value per trial. Values below 0 count as 0.
        other: The same for the other side.
        tick: Smallest step of the clock. Medians that are one tick apart count as equal:
            each of them may be half a tick off.
        seed: Seed of the resampling.
    """
    base, other = (np.sort(np.maximum(side, 0.0)) for side in (base, other))
    value = float(_divide(np.median(other, keepdims=True), np.median(base, keepdims=True))[0])
    if min(len(base), len(other)) < FEWEST_TRIALS:
        return Ratio(value)
    bases, others = _resampled_medians(base, other, seed)
    half = tick / 2
    lows = np.sort(_divide(np.maximum(others - half, 0.0), bases + half))
    highs = np.sort(_divide(others + half, np.maximum(bases - half, 0.0)))
    outside = math.floor((1 - CONFIDENCE) / 2 * _RESAMPLES)
    return Ratio(value, float(lows[outside]), float(highs[-1 - outside]))


def _resampled_medians(base: Floats, other: Floats, seed: int) -> tuple[Floats, Floats]:
    """Use each draw for either side once, so that swapping the sides inverts the interval."""
    draws = np.random.default_rng(seed).random((2, _RESAMPLES // 2, max(len(base), len(other))))
    return _medians(base, draws), _medians(other, draws[::-1])


def _medians(sample: Floats, draws: Floats) -> Floats:
    chosen = (draws[..., : len(sample)] * len(sample)).astype(np.int64)
    return medians(sample[chosen]).ravel()


def _divide(upper: Floats, lower: Floats) -> Floats:
    """Divide non-negative values; 0 by 0 is 1, anything else by 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = np.where(upper == lower, 1.0, upper / lower)
    return quotient
