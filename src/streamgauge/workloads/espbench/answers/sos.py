"""Stochastic Outlier Selection (Janssens et al.): how probably is each point an outlier?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def outlier_probabilities(points: Floats, perplexity: float = 30.0, steps: int = 50) -> Floats:
    """Return the outlier probability of each of the points (one row each)."""
    others = ~np.eye(len(points), dtype=bool)
    distances = _distances(points)[others].reshape(len(points), len(points) - 1)
    binding = np.zeros(others.shape)
    binding[others] = _binding(distances, float(np.log(perplexity)), steps).ravel()
    return np.asarray(np.prod(1.0 - binding, axis=0))


def _distances(points: Floats) -> Floats:
    """Return the Euclidean distance of each point from every other."""
    squares = np.zeros((len(points), len(points)))
    for column in points.T:
        squares += np.subtract.outer(column, column) ** 2
    return np.sqrt(squares)


def _binding(distances: Floats, target: float, steps: int) -> Floats:
    """Return each point's binding to the others; beta is bisected for all points at once."""
    beta = np.ones(len(distances))
    low = np.full(len(distances), -np.inf)
    high = np.full(len(distances), np.inf)
    affinity = np.empty_like(distances)
    ones = np.ones(distances.shape[1])
    # All affinities of a far point may vanish: its entropy is then NaN, which lowers beta.
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(steps):
            _affinity(distances, beta, affinity)
            total = affinity @ ones
            entropy = np.log(total) + beta * np.vecdot(distances, affinity) / total
            rise = entropy > target
            low = np.where(rise, beta, low)
            high = np.where(rise, high, beta)
            risen = np.where(np.isinf(high), beta * 2, (beta + high) / 2)
            fallen = np.where(np.isinf(low), beta / 2, (beta + low) / 2)
            beta = np.where(rise, risen, fallen)
        _affinity(distances, beta, affinity)
        # The last step may have gone where they vanish: the last β that left any decides.
        vanished = (affinity @ ones) == 0
        _affinity(distances, np.where(vanished, low, beta), affinity)
        return affinity / (affinity @ ones)[:, np.newaxis]


def _affinity(distances: Floats, beta: Floats, out: Floats) -> None:
    np.multiply(distances, -beta[:, np.newaxis], out=out)
    np.exp(out, out=out)
