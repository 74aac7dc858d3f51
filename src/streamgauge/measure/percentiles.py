"""The percentiles of a sample as a curve that ends where the sample does."""

from __future__ import annotations

import math

import numpy as np

from streamgauge.measure.statistics import Floats, Integers

_STEP_OF_NINES = 0.05


def curve(values: Floats, times: Integers | None = None) -> tuple[Floats, Floats]:
    """Return −log10(1 − p) and the percentile there, by nearest rank: 90 % is at 1, 99 % at 2.

    Each further nine gets the same room, and the last point is at 1 − 1/n.

    Args:
        values: The sample.
        times: How often each value occurs; once by default.
    """
    if len(values) == 0:
        return np.array([]), np.array([])
    order = np.argsort(values)
    reached = np.arange(1, len(values) + 1) if times is None else np.cumsum(times[order])
    count = int(reached[-1])
    last = math.log10(count)
    at: Floats = np.append(np.arange(0, last, _STEP_OF_NINES), last)
    # Rounded first, since 10 ** -log10(n) is not exactly 1/n.
    above = np.floor(np.round(count * 10.0**-at, 6)).astype(np.int64)
    ranks = np.clip(count - above, 1, count)
    return at, values[order][np.searchsorted(reached, ranks)]
