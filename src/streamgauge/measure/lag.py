"""Whether the lag grows: Theodolite's rule, on a grid of 5 s, with what a reader has to know."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.measure.behind import grid
from streamgauge.measure.statistics import Floats

if TYPE_CHECKING:
    from streamgauge.spec.values import Span

STEP_S = 5.0
"""Distance between the points of the grid, as published."""
FEWEST_POINTS = 3
FEWEST_FOR_LIMITS = 8
"""Fewer points say nothing about how exact their slope is."""
_MOST_ALIKE = 0.9
_FEWEST_FREE = 3.0


@dataclass(frozen=True)
class Line:
    """A line by least squares through the lag over time."""

    slope: float
    """Records per second."""
    sawtooth: float
    """From the lowest to the highest point around the line, in records."""


def on_grid(at_s: Floats, lag: Floats, span: Span) -> Floats:
    """Return the newest value at each point of the grid; NaN before the first one.

    Args:
        at_s: Epoch seconds, ascending, of the whole trial.
        lag: Records behind at these times; below 0 if its two ends were seen at two moments.
        span: The measured span, where the grid begins.
    """
    at = grid(span, round(STEP_S * 1000)) / 1000
    newest = np.searchsorted(at_s, at, side="right") - 1
    values = np.append(np.maximum(lag, 0.0), np.nan)  # the last one stands for none
    return np.asarray(values[newest], dtype=np.float64)


def line(lags: Floats) -> Line | None:
    """Fit a line to the points of a grid; None where there are too few of them."""
    x, y = _points(lags)
    if len(x) < FEWEST_POINTS:
        return None
    slope, around = _fit(x, y)
    return Line(slope, float(around.max() - around.min()))


def limits(lags: Floats, share: float) -> tuple[float, float] | None:
    """Return the interval that holds the slope with that probability; None for too few points.

    Neighbouring points resemble each other, so the usual error of a slope is too small. It is
    widened by how much they do (an autoregressive process of first order).
    """
    x, y = _points(lags)
    count = len(x)
    if count < FEWEST_FOR_LIMITS:
        return None
    slope, around = _fit(x, y)
    squares = float(around @ around)
    alike = float(around[1:] @ around[:-1]) / squares if squares else 0.0
    # A line through few points makes its residuals look less alike than they are.
    alike = min(max((alike + 2 / count) / (1 - 4 / count), 0.0), _MOST_ALIKE)
    widened = (1 + alike) / (1 - alike)
    error = math.sqrt(squares / (count - 2) / float(((x - x.mean()) ** 2).sum()) * widened)
    off = _t_quantile((1 + share) / 2, max(count / math.sqrt(widened) - 2, _FEWEST_FREE)) * error
    return slope - off, slope + off


def _points(lags: Floats) -> tuple[Floats, Floats]:
    """Return seconds and lag of the points that have a value."""
    there = ~np.isnan(lags)
    return np.flatnonzero(there).astype(np.float64) * STEP_S, lags[there]


def _fit(x: Floats, y: Floats) -> tuple[float, Floats]:
    """Return the slope by least squares, and the residuals."""
    after = x - x.mean()
    slope = float(after @ y / (after @ after))
    return slope, y - y.mean() - slope * after


def _t_quantile(probability: float, free: float) -> float:
    """Return a quantile of Student's t, by its series in the normal one."""
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / free**power for power, term in enumerate(terms, 1))
