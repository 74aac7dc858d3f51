"""The model of a capacity in words: how it grows, what holds it back, what lies beyond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamgauge.experiments.scalability.answer import Curve, Efficiency, Explained, Point
from streamgauge.experiments.scalability.ladder import written
from streamgauge.measure.scaling import (
    BEYOND,
    FEWEST_LINEAR,
    Model,
    Range,
    Seen,
    efficiencies,
    model,
)

_LEAST = 0.005
"""A share whose interval reaches below this cannot be distinguished from zero."""


def explain(points: Sequence[Point], resources: str, load: str) -> Explained:
    """Model the capacities that the engine itself bounds; say why where there are too few."""
    seen = [
        Seen(point.size, point.found_size, point.beyond_size)
        for point in points
        if point.limit == "engine" and point.found_size is not None
    ]
    pairs = tuple(Efficiency(less=a, more=b, value=value) for a, b, value in efficiencies(seen))
    found = model(seen)
    if found is None:
        few = f"no model: {len(seen)} capacities are too few, {FEWEST_LINEAR} are needed"
        return Explained(kind=None, told=(few,), efficiencies=pairs)
    measured = max(each.size for each in seen)
    curve = tuple(
        Curve(size=size, low=low, middle=middle, high=high, measured=size <= measured)
        for size, (low, middle, high) in found.curve
    )
    sentences = (*_growth(found, resources, load), *_beyond(found, measured, resources, load))
    return Explained(kind=found.kind, told=sentences, curve=curve, efficiencies=pairs)


def _growth(found: Model, resources: str, load: str) -> Iterator[str]:
    parameters = found.parameters
    if found.kind == "linear":
        low, middle, high = (written(load, each) for each in parameters["each"])
        yield f"each step of {resources} adds {middle} ({low} to {high}), by a linear fit"
        return
    low, middle, high = (written(load, each) for each in parameters["one"])
    yield f"one by itself would carry {middle} ({low} to {high}), by the Universal Scalability Law"
    yield _share("contention", "of the work is done one after the other", parameters["contention"])
    yield _share("coherence", "more work for each pair that has to agree", parameters["coherence"])


def _share(name: str, what: str, found: Range) -> str:
    low, middle, high = found
    if low < _LEAST:
        return f"{name}: indistinguishable from none, at most {100 * high:.2g} % {what}"
    return f"{name}: {100 * middle:.2g} % ({100 * low:.2g} to {100 * high:.2g} %) {what}"


def _beyond(found: Model, measured: float, resources: str, load: str) -> Iterator[str]:
    certain = found.parameters.get("coherence", (0.0, 0.0, 0.0))[0] >= _LEAST
    if found.peak is not None and certain:
        where = "beyond what was measured" if found.peak > measured else "within what was measured"
        yield f"the capacity would be greatest at about {found.peak:.2g} {resources}, {where}"
    size, (low, middle, high) = found.curve[-1]
    low_, middle_, high_ = (written(load, each) for each in (low, middle, high))
    yield (
        f"predicted, not measured: {size:g} {resources} ({BEYOND:g} times the largest) would carry"
        f" {middle_}, 90 % interval {low_} to {high_}"
    )
