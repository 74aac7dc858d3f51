"""The charts of a search in Vega-Lite, with their data: its trials, and their latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamgauge.report.charts.ticks import ticks
from streamgauge.report.charts.time_charts import Unit
from streamgauge.report.charts.vega import CONFIG, FLOOR_MS, LABELS, PALETTE, QUIET, Spec
from streamgauge.report.page.legend import SIGNS
from streamgauge.report.search.trials import Kind
from streamgauge.spec.experiment import Interval
from streamgauge.spec.values import Json

HELD, OVER = PALETTE[2], PALETTE[1]
CEILING_DASH = (7, 4)
_LEAST_MARGIN = 1.12
_MARGIN = 0.06
"""Room at both ends of a logarithmic axis, as a share of what lies between."""


@dataclass(frozen=True)
class Look:
    """How the trials of one kind are drawn, so that no verdict is told by colour alone."""

    colour: str
    path: str
    """An SVG path round the origin, from -1 to 1."""


LOOKS: Mapping[Kind, Look] = {
    "pass": Look(HELD, SIGNS["circle"]),
    "fail": Look(OVER, SIGNS["cross"]),
    "invalid": Look(QUIET, SIGNS["diamond"]),
    "inconclusive": Look(PALETTE[4], SIGNS["up"]),
    "probe": Look(PALETTE[0], SIGNS["square"]),
}


@dataclass(frozen=True)
class Point:
    """One trial as the charts show it."""

    trial: int
    rate: float
    kind: Kind
    says: str
    """What is told where the cursor is."""
    latency_ms: float | None = None

    def row(self) -> Json:
        """Return what Vega-Lite gets."""
        floored = None if self.latency_ms is None else max(self.latency_ms, FLOOR_MS)
        return {
            "trial": self.trial,
            "rate": self.rate,
            "kind": self.kind,
            "says": self.says,
            "latency": floored,
        }


def ladder_spec(
    trials: Sequence[int],
    points: Sequence[Point],
    brackets: Sequence[Interval],
    ceiling: float | None,
) -> Spec:
    """Return the chart of rates in the order of the trials, between the ends of the bracket.

    Args:
        trials: The numbers of all trials, also of those without a point.
        points: What is drawn of them.
        brackets: The ends after each trial.
        ceiling: The rate that `noop` kept up with; None where nobody has looked.
    """
    rates = [*(point.rate for point in points), *filter(None, [ceiling])]
    y = _log("rate", "1/s", rates)
    steps = _steps(trials, brackets)
    layers = [
        _band(steps),
        _end(steps, "low", HELD),
        _end(steps, "high", OVER),
        *([_ceiling(ceiling)] if ceiling else []),
        _points(points),
    ]
    return _chart(270, {"x": _order(trials), "y": y}, layers)


def latency_spec(points: Sequence[Point], found: float | None) -> Spec:
    """Return the chart of latencies over rates, with a line at the rate that was found."""
    told = [point for point in points if point.latency_ms is not None]
    latencies = [max(point.latency_ms or 0.0, FLOOR_MS) for point in told]
    rates = [*(point.rate for point in told), *filter(None, [found])]
    shared: Spec = {"x": _log("rate", "1/s", rates), "y": _log("latency", "ms", latencies)}
    return _chart(270, shared, [*([_found(found)] if found else []), _points(told)])


def _chart(height: int, shared: Spec, layers: Sequence[Spec]) -> Spec:
    return {
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "encoding": shared,
        "layer": list(layers),
        "config": CONFIG,
    }


def _steps(trials: Sequence[int], brackets: Sequence[Interval]) -> list[Json]:
    """Return each bracket from its trial to the next: a line breaks where an end is not known."""
    until = [*trials[1:], trials[-1] + 0.5]
    return [
        {"trial": at, "low": low, "high": high}
        for begin, end, (low, high) in zip(trials, until, brackets, strict=True)
        for at in (begin, end)
    ]


def _points(points: Sequence[Point]) -> Spec:
    kinds: list[Json] = list(LOOKS)
    colours: list[Json] = [look.colour for look in LOOKS.values()]
    paths: list[Json] = [look.path for look in LOOKS.values()]
    return {
        "data": {"values": [point.row() for point in points]},
        "mark": {"type": "point", "filled": True, "size": 130, "opacity": 0.9},
        "encoding": {
            "color": {"field": "kind", "scale": {"domain": kinds, "range": colours}},
            "shape": {"field": "kind", "scale": {"domain": kinds, "range": paths}},
            "tooltip": {"field": "says"},
        },
    }


def _band(rows: list[Json]) -> Spec:
    return {
        "data": {"values": rows},
        "mark": {"type": "area", "color": QUIET, "opacity": 0.13},
        "encoding": {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
    }


def _end(rows: list[Json], end: str, colour: str) -> Spec:
    y: Spec = {"field": end, "type": "quantitative"}
    mark: Spec = {"type": "line", "color": colour, "strokeWidth": 1.8}
    return {"data": {"values": rows}, "mark": mark, "encoding": {"y": y}}


def _ceiling(rate: float) -> Spec:
    return {
        "data": {"values": [{"rate": rate}]},
        "mark": {"type": "rule", "color": QUIET, "strokeWidth": 1.8, "strokeDash": [*CEILING_DASH]},
        "encoding": {"x": None},
    }


def _found(rate: float) -> Spec:
    return {
        "data": {"values": [{"rate": rate}]},
        "mark": {"type": "rule", "color": HELD, "strokeWidth": 1.8},
        "encoding": {"y": None},
    }


def _order(trials: Sequence[int]) -> Spec:
    axis: Spec = {
        "title": None,
        "grid": False,
        "values": [*trials],
        "labelExpr": "'#' + datum.value",
        "labelOverlap": "greedy",
        "labelSeparation": 6,
    }
    domain: list[Json] = [min(trials) - 0.5, max(trials) + 0.5]
    return {
        "field": "trial",
        "type": "quantitative",
        "axis": axis,
        "scale": {"domain": domain, "nice": False, "zero": False},
    }


def _log(field: str, unit: Unit, values: Sequence[float]) -> Spec:
    margin = max(_LEAST_MARGIN, (max(values) / min(values)) ** _MARGIN)
    low, high = min(values) / margin, max(values) * margin
    axis: Spec = {
        "title": None,
        "values": [*ticks(low, high)],
        "labelExpr": f"datum.value < 1 ? '< 1 ms' : ({LABELS[unit]})"
        if unit == "ms"
        else LABELS[unit],
        "labelOverlap": "greedy",
        "labelSeparation": 6,
        "labelFlush": False,
    }
    scale: Spec = {"type": "log", "domain": [low, high], "nice": False}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}
