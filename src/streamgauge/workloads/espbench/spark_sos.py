"""Stochastic Outlier Selection as the Spark query computes it: all points of a window at once.

Every point spreads its affinity over its neighbours so that it has `perplexity` of them in
effect; a point that hardly anyone counts as a neighbour is an outlier. Each point's rate of decay
β is the root of a falling function, found by Newton's method in ln β inside a shrinking bracket:
about seven steps, where bisection takes fifty.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MAX_STEPS = 60
BISECTIONS = 50
VANISHING = 700.0
"""exp(−x) of a greater x is hardly a number, or 0."""
TOLERANCE = 1e-10
LOG_BETA = (-60.0, 60.0)
"""Bracket in which every root lies that makes a difference to a double's exponential."""


def outlier_probabilities(points: Floats, perplexity: float) -> Floats:
    """Return the probability of being an outlier of each point (one row per point)."""
    distances = _distances_to_others(points)
    # Affinities are relative, so each point's nearest may have 1: nothing underflows.
    nearest = distances.min(axis=1)
    distances -= nearest[:, None]
    target = float(np.log(perplexity))
    decay = _decay(distances, target)
    affinities = np.exp(-decay[:, None] * distances)
    affinities /= affinities.sum(axis=1, keepdims=True)
    far = decay * nearest > VANISHING
    if far.any():
        affinities[far] = _bisected(_distances_to_others(points)[far], target)
    return _unchosen(affinities)


def _distances_to_others(points: Floats) -> Floats:
    count = len(points)
    squares = np.zeros((count, count))
    for column in points.T:
        squares += np.subtract.outer(column, column) ** 2
    # Without the diagonal, as n rows of n - 1: skip the first cell, then one in every n + 1.
    others = squares.ravel()[1:].reshape(count - 1, count + 1)[:, :-1].reshape(count, count - 1)
    return np.sqrt(others)


def _unchosen(chosen: Floats) -> Floats:
    """Return for each point the probability that no other chooses it as its neighbour."""
    count = len(chosen)
    square = np.ones(count * count)
    square[1:].reshape(count - 1, count + 1)[:, :-1] = 1 - chosen.reshape(count - 1, count)
    unchosen: Floats = square.reshape(count, count).prod(axis=0)
    return unchosen


def _decay(distances: Floats, target: float) -> Floats:
    """Find β of each row, at which the entropy of its affinities is `target`."""
    log_beta = -np.log(np.maximum(np.median(distances, axis=1) / 4, 1e-12))
    low, high = (np.full(len(distances), bound) for bound in LOG_BETA)
    # A point with as many twins as neighbours wanted has no root: its twins share its affinity.
    twins = (distances == 0).sum(axis=1)
    log_beta[np.log(twins) >= target] = LOG_BETA[1]
    todo = np.flatnonzero(np.log(twins) < target)
    step = high - low
    for _ in range(MAX_STEPS):
        excess, slope = _entropy(distances[todo], log_beta[todo], target)
        above = excess > 0
        low[todo[above]] = log_beta[todo[above]]
        high[todo[~above]] = log_beta[todo[~above]]
        todo, excess, slope = _unfinished(todo, excess, slope)
        if not len(todo):
            break
        here = log_beta[todo]
        log_beta[todo] = _next(here, excess, slope, low[todo], high[todo], step[todo])
        step[todo] = np.abs(log_beta[todo] - here)
    return np.exp(log_beta)


def _bisected(distances: Floats, target: float) -> Floats:
    """Return the affinities of points so far off that the definition's affinities vanish.

    Where all of them do, the definition lowers β: it ends at the greatest β that leaves any.
    """
    beta = np.ones(len(distances))
    low, high = np.full(len(distances), -np.inf), np.full(len(distances), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(BISECTIONS):
            affinities = np.exp(-beta[:, None] * distances)
            total = affinities.sum(axis=1)
            entropy = np.log(total) + beta * (affinities * distances).sum(axis=1) / total
            above = entropy > target
            low[above], high[~above] = beta[above], beta[~above]
            up = np.where(np.isinf(high), 2 * beta, (beta + high) / 2)
            down = np.where(np.isinf(low), beta / 2, (beta + low) / 2)
            beta = np.where(above, up, down)
    vanished = np.exp(-beta * distances.min(axis=1)) == 0
    beta = np.where(vanished, low, beta)
    affinities = np.exp(-beta[:, None] * distances)
    bound: Floats = affinities / affinities.sum(axis=1, keepdims=True)
    return bound


def _entropy(distances: Floats, log_beta: Floats, target: float) -> tuple[Floats, Floats]:
    """Return the entropy above target and its derivative by ln β, row by row."""
    beta = np.exp(log_beta)
    affinities = np.exp(-beta[:, None] * distances)
    total = affinities.sum(axis=1)
    affinities *= distances
    mean = affinities.sum(axis=1) / total
    affinities *= distances
    variance = affinities.sum(axis=1) / total - mean**2
    return np.log(total) + beta * mean - target, -(beta**2) * variance


def _unfinished(
    todo: npt.NDArray[np.intp], excess: Floats, slope: Floats
) -> tuple[npt.NDArray[np.intp], Floats, Floats]:
    rest = np.abs(excess) > TOLERANCE
    return todo[rest], excess[rest], slope[rest]


def _next(
    log_beta: Floats, excess: Floats, slope: Floats, low: Floats, high: Floats, last: Floats
) -> Floats:
    """Take Newton's step where it stays in the bracket and converges; otherwise halve the bracket.

    A step longer than half the last one does not converge: on a curve with a knee, like that of a
    point between a dense and a sparse cluster, Newton would jump back and forth forever.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        newton = log_beta - excess / slope
    converges = np.abs(newton - log_beta) <= last / 2
    inside = (newton > low) & (newton < high)
    return np.where(inside & converges, newton, (low + high) / 2)
