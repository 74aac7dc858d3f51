"""How capacity grows with resources: a model of it, its intervals, and scaling efficiency.

The Universal Scalability Law (Gunther): C(n) = u·n / (1 + a·(n - 1) + b·n·(n - 1)), where `a` is
contention, work that must be done one after the other, and `b` coherence, what all must agree on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from streamgauge.measure.statistics import Floats

FEWEST_LINEAR = 3
FEWEST_USL = 4
BEYOND = 2.0
"""Capacity is predicted up to this many times the greatest size."""
_STEPS = 40
_RESAMPLES = 2000
_SEED = 20_080_617
_QUANTILES = (0.05, 0.5, 0.95)
_TINY = 1e-15
_RIDGE = 1e-12
"""Keeps equations apart that are nearly the same."""

Kind = Literal["linear", "usl"]
_Fit = Callable[[Floats, Floats], Floats]
Range = tuple[float, float, float]
"""Lower end of the 90 % interval, median, upper end."""


@dataclass(frozen=True)
class Seen:
    """The capacity of one size: it carries the first load, but not the second."""

    size: float
    low: float
    high: float | None = None
    """None where the lowest load that fails is not known."""


@dataclass(frozen=True)
class Model:
    """A model of the capacity, with the parameters and predictions of all resamples."""

    kind: Kind
    parameters: dict[str, Range]
    """linear: `base` and `each` size more; usl: `one` size alone, `contention`, `coherence`."""
    curve: tuple[tuple[float, Range], ...]
    """Size and capacity, up to twice the greatest size that was measured."""
    peak: float | None
    """Size beyond which capacity falls, by the medians; None where it never does."""


def model(seen: Sequence[Seen]) -> Model | None:
    """Fit the model that the sizes allow: none for two, a line for three, the law for more."""
    seen = sorted(seen, key=lambda each: each.size)
    sizes = np.array([each.size for each in seen])
    if len(np.unique(sizes)) < FEWEST_LINEAR:
        return None
    usl = len(np.unique(sizes)) >= FEWEST_USL
    fit, free = (_usl, 3) if usl else (_linear, 2)
    drawn = fit(sizes, _resampled(seen, sizes, fit, free))
    at = np.linspace(sizes[0], BEYOND * sizes[-1], _STEPS)
    at = np.unique(np.concatenate([at, sizes]))
    predict = _usl_at if usl else _linear_at
    curve = [(float(size), _range(predict(drawn, size))) for size in at]
    samples = _usl_parameters(drawn) if usl else {"base": drawn[:, 0], "each": drawn[:, 1]}
    parameters = {name: _range(values) for name, values in samples.items()}
    return Model("usl" if usl else "linear", parameters, tuple(curve), _peak(parameters))


def efficiencies(seen: Sequence[Seen]) -> list[tuple[float, float, float]]:
    """Return two sizes and the scaling efficiency from one to the next: TIF / RIF.

    Throughput after / before, over resources after / before; 1 is linear.
    """
    ordered = sorted(seen, key=lambda each: each.size)
    return [
        (a.size, b.size, (b.low / a.low) / (b.size / a.size)) for a, b in pairwise(ordered) if a.low
    ]


def _resampled(seen: Sequence[Seen], sizes: Floats, fit: _Fit, free: int) -> Floats:
    """Draw capacities from between what passed and what failed, and from what the fit leaves."""
    low = np.log([each.low for each in seen])
    high = np.log([each.high or each.low for each in seen])
    width = high - low
    middle = (low + high) / 2
    left = middle - np.log(_at(fit, sizes, np.exp(middle)))
    # Each capacity is drawn from the width of its step; noise is the variance beyond that.
    noise = float(left @ left) / max(len(sizes) - free, 1) - float(np.mean(width**2)) / 12
    rng = np.random.default_rng(_SEED)
    drawn = low + rng.uniform(size=(_RESAMPLES, len(sizes))) * width
    drawn = drawn + rng.normal(size=drawn.shape) * math.sqrt(max(noise, 0.0))
    return np.asarray(np.exp(drawn), dtype=np.float64)


def _at(fit: _Fit, sizes: Floats, capacities: Floats) -> Floats:
    """Return the fitted capacities of the sizes themselves."""
    found = fit(sizes, capacities[np.newaxis])
    predict = _usl_at if fit is _usl else _linear_at
    fitted = np.array([predict(found, size)[0] for size in sizes])
    positive: Floats = np.maximum(fitted, _TINY)
    return positive


def _linear(sizes: Floats, capacities: Floats) -> Floats:
    """Fit `base + each · n` to each row."""
    after = sizes - sizes.mean()
    each = capacities @ after / (after @ after)
    return np.stack([capacities.mean(axis=1) - each * sizes.mean(), each], axis=1)


def _linear_at(found: Floats, size: float) -> Floats:
    values: Floats = found[:, 0] + found[:, 1] * size
    return values


def _usl(sizes: Floats, capacities: Floats) -> Floats:
    """Fit n / C = c0 + c1·(n - 1) + c2·n·(n - 1) to each row, none of them negative.

    Of the four ways to leave out contention and coherence, the best that is possible counts. All
    errors are relative.
    """
    terms = np.stack([np.ones_like(sizes), sizes - 1, sizes * (sizes - 1)], axis=-1)
    weighted = terms * (capacities / sizes)[..., np.newaxis]
    best, found = np.full(len(capacities), np.inf), np.zeros((len(capacities), 3))
    for used in ([0, 1, 2], [0, 1], [0, 2], [0]):
        part = weighted[..., used]
        scale = np.sqrt((part**2).sum(axis=1, keepdims=True)) + _TINY
        alike = part / scale
        square = np.einsum("bki,bkj->bij", alike, alike) + _RIDGE * np.eye(len(used))
        solved = np.linalg.solve(square, alike.sum(axis=1)[..., np.newaxis])[..., 0]
        solved = solved / scale[:, 0]
        error = ((1 - np.einsum("bki,bi->bk", part, solved)) ** 2).sum(axis=1)
        better = (solved >= 0).all(axis=1) & (solved[:, 0] > 0) & (error < best - _TINY)
        best[better] = error[better]
        row = np.zeros((len(capacities), 3))
        row[:, used] = solved
        found[better] = row[better]
    return found


def _usl_at(found: Floats, size: float) -> Floats:
    terms = np.array([1.0, size - 1, size * (size - 1)])
    values: Floats = size / (found @ terms)
    return values


def _usl_parameters(found: Floats) -> dict[str, Floats]:
    one = 1 / found[:, 0]
    return {"one": one, "contention": found[:, 1] * one, "coherence": found[:, 2] * one}


def _range(values: Floats) -> Range:
    low, middle, high = (float(each) for each in np.quantile(values, _QUANTILES))
    return low, middle, high


def _peak(parameters: dict[str, Range]) -> float | None:
    """Return where the law has its greatest capacity."""
    coherence = parameters.get("coherence", (0.0, 0.0, 0.0))[1]
    contention = parameters.get("contention", (0.0, 0.0, 0.0))[1]
    if coherence <= 0 or contention >= 1:
        return None
    return math.sqrt((1 - contention) / coherence)
