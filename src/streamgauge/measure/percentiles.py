"""The percentiles of a sample as a curve that ends where the sample does."""

from __future__ import annotations

import math

import numpy as np

from streamgauge.measure.statistics import Floats

_STEP_OF_NINES = 0.05


def curve(values: Floats) -> tuple[Floats, Floats]:
    """Return −log10(1 − p) and the percentile there, by nearest rank: 90 % is at 1, 99 % at 2.

    Each further nine gets the same room, and the last point is at 1 − 1/n.
    """
    if len(values) == 0:
        return np.array([]), np.array([])
    ordered = np.sort(values)
    last = math.log10(len(ordered))
    at: Floats = np.append(np.arange(0, last, _STEP_OF_NINES), last)
    # Rounded first, since 10 ** -log10(n) is not exactly 1/n.
    above = np.floor(np.round(len(ordered) * 10.0**-at, 6)).astype(np.int64)
    return at, ordered[np.clip(len(ordered) - above, 1, len(ordered)) - 1]
