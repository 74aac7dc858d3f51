"""Charts in Vega-Lite, without their data: those come in when a chart is drawn.

Rows have a time or place `x`, a value `v`, their series `s`, its number `i`, colour `c` and dash
`d`. A colour never stands alone: series also differ by dash, by order or by their label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamgauge.report.charts.time_charts import MARKS_IN_SIGHT, Chart, Shape, Unit
from streamgauge.spec.values import Json

Spec = dict[str, Json]

# Okabe and Ito's colours, the light ones darkened: each stands out from white and from black.
PALETTE = ("#1f7fc0", "#d55e00", "#009e73", "#b5599a", "#b98900", "#7d8590", "#5b6fd6", "#a0522d")
DASHES: tuple[tuple[int, ...], ...] = ((), (6, 3), (2, 2), (8, 3, 2, 3))
FLOOR_MS = 0.5
"""Where a logarithmic axis shows what is below the clock's resolution of a millisecond."""

CONFIG: Spec = {
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
    "background": "transparent",
    "padding": 4,
    "view": {"stroke": "transparent"},
    "legend": {"disable": True},
    "axis": {
        "domain": False,
        "ticks": False,
        "gridColor": "#d8dde3",
        "labelColor": "#57606a",
        "labelFontSize": 11,
        "labelPadding": 6,
    },
    "aria": False,
}
QUIET = "#7d8590"
_LOUD = "#d55e00"
_PLAIN = "format(datum.value, '~r')"
LABELS: Mapping[Unit, str] = {
    "ms": f"datum.value < 1000 ? {_PLAIN} + ' ms' : format(datum.value / 1000, '~r') + ' s'",
    "s": f"{_PLAIN} + ' s'",
    "records": f"datum.value < 1000 ? {_PLAIN} : format(datum.value, '~s')",
    "1/s": f"(datum.value < 1000 ? {_PLAIN} : format(datum.value, '~s')) + '/s'",
    "cores": _PLAIN,
    "GiB": f"{_PLAIN} + ' GiB'",
    "MiB/s": f"{_PLAIN} + ' MiB/s'",
    "": _PLAIN,
}
_MARKS: Mapping[Shape, Spec] = {
    # Round ends show a value that has none beside it as a dot.
    "lines": {"type": "line", "strokeCap": "round", "clip": True},
    "areas": {"type": "area", "fillOpacity": 0.85, "clip": True},
    "points": {"type": "circle", "size": 9, "opacity": 0.65, "clip": True},
}
_WRITTEN = (FLOOR_MS, *(step * 10.0**power for power in range(7) for step in (1, 2, 5)))
"""What stands beside a logarithmic axis of a picture."""
_AXIS_WIDTH = 62
"""The same for all charts, so that one time is in one place in all of them."""
PERCENT = (
    "datum.value == 0 ? '0' : datum.value < 1 ? '50 %'"
    " : format(100 - 100 * pow(10, -datum.value), '~r') + ' %'"
)


def time_spec(chart: Chart) -> Spec:
    """Return a chart over time."""
    height = 230 if chart.wide and chart.log else 170
    marks = [_acts()] if chart.section == "resources" else [_boundaries(), _acts()]
    layers = [_outside(), *marks, _main(chart), *_lines_beside(chart), _here()]
    return _layered(height, layers)


def distribution_spec() -> Spec:
    """Return the chart of percentiles over an axis that gives each further nine the same room."""
    axis: Spec = {
        "values": [0, 0.30103, 1, 2, 3, 4, 5, 6, 7],
        "labelExpr": PERCENT,
        "title": None,
        "labelFlush": True,
    }
    lines: Spec = {
        "data": {"name": "rows"},
        "mark": {"type": "line", "clip": True},
        "transform": [_at_least_the_floor()],
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "scale": _shared_domain(), "axis": axis},
            "y": value_axis("ms", log=True),
            "detail": {"field": "s"},
            "color": {"field": "c", "type": "nominal", "scale": None},
            "strokeDash": {"field": "d", "scale": None},
            "strokeWidth": {"field": "w", "type": "quantitative", "scale": None},
            "strokeOpacity": {"field": "o", "type": "quantitative", "scale": None},
        },
    }
    return _layered(260, [lines, _here()])


def picture_config(*, legend: bool) -> Spec:
    """Return the looks of a picture that stands on its own, in a page of text."""
    shown: Spec = {"disable": not legend, "title": None, "orient": "top", "symbolOpacity": 1}
    return {**CONFIG, "background": "white", "padding": 12, "legend": shown}


def small_multiples(columns: int, title: str, subtitle: str, series: Sequence[str]) -> Spec:
    """Return a picture of many trials: a dot for each of some latencies, of some kinds."""
    mark: Spec = {"type": "circle", "size": 9, "opacity": 0.55}
    colours: Spec = {"domain": [*series], "range": [*PALETTE[: len(series)]]}
    encoding: Spec = {
        "x": {"field": "x", "type": "quantitative", "axis": _seconds(), "scale": {"nice": False}},
        "y": value_axis("ms", log=True, log_values=_WRITTEN),
        "color": {"field": "s", "type": "nominal", "scale": colours},
    }
    header: Spec = {"title": None, "labelFontSize": 12, "labelFontWeight": "bold"}
    return {
        "title": {"text": title, "subtitle": subtitle, "anchor": "start", "offset": 12},
        "data": {"name": "rows"},
        "transform": [_at_least_the_floor()],
        "facet": {"field": "trial", "type": "nominal", "sort": None, "header": header},
        "columns": columns,
        "spec": {"width": 230, "height": 130, "mark": mark, "encoding": encoding},
        "config": picture_config(legend=len(series) > 1),
    }


def panel(chart: Chart, series: Sequence[str], rows: Sequence[Json]) -> Spec:
    """Return a chart over time with its data, as a part of a picture."""
    colours: Spec = {"domain": [*series], "range": [PALETTE[place] for place in chart.colours]}
    encoding: Spec = {
        "x": {"field": "x", "type": "quantitative", "axis": _seconds(), "scale": {"nice": False}},
        "y": value_axis(
            chart.unit, log=chart.log, stack=chart.shape == "areas", log_values=_WRITTEN
        ),
        "color": {"field": "s", "type": "nominal", "sort": None, "scale": colours},
    }
    if chart.shape == "lines":
        dashes: list[Json] = [[*DASHES[place % len(DASHES)]] for place in range(len(series))]
        encoding["strokeDash"] = {
            "field": "s",
            "sort": None,
            "scale": {"domain": [*series], "range": dashes},
        }
    transform: list[Json] = [_at_least_the_floor()] if chart.log else []
    return {
        "title": chart.title,
        "width": 360,
        "height": 130,
        "data": {"values": [*rows]},
        "transform": transform,
        "mark": _MARKS[chart.shape],
        "encoding": encoding,
    }


def _layered(height: int, layers: Sequence[Spec]) -> Spec:
    return {
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "params": [
            {"name": "from", "value": 0},
            {"name": "to", "value": 1},
            {"name": "here", "value": None},
        ],
        "layer": list(layers),
        "config": CONFIG,
    }


def _time() -> Spec:
    return {
        "field": "x",
        "type": "quantitative",
        "scale": _shared_domain(),
        "axis": {**_seconds(), "tickCount": 7},
    }


def _seconds() -> Spec:
    label = f"{_PLAIN} + ' s'"
    return {
        "title": None,
        "labelExpr": label,
        "labelFlush": True,
        "labelSeparation": 8,
        "tickCount": 4,
    }


def _shared_domain() -> Spec:
    return {
        "domainMin": {"expr": "from"},
        "domainMax": {"expr": "to"},
        "nice": False,
        "zero": False,
    }


def value_axis(
    unit: Unit, *, log: bool = False, stack: bool = False, log_values: Sequence[float] = ()
) -> Spec:
    """Return how values are placed and labelled; the page puts values on a logarithmic axis."""
    axis: Spec = {
        "title": None,
        "labelExpr": LABELS[unit],
        "minExtent": _AXIS_WIDTH,
        "maxExtent": _AXIS_WIDTH,
    }
    scale: Spec = {"zero": True, "nice": True}
    if log:
        scale = {"type": "log", "nice": False, "padding": 8}
        axis |= {
            "values": list(log_values),
            "labelOverlap": "greedy",
            "labelExpr": f"datum.value < 1 ? '< 1 ms' : ({LABELS[unit]})",
        }
    else:
        axis["tickCount"] = 5
    value: Spec = {"field": "v", "type": "quantitative", "axis": axis, "scale": scale}
    return {**value, "stack": "zero" if stack else None}


def _at_least_the_floor() -> Spec:
    return {"calculate": f"datum.v === null ? null : max(datum.v, {FLOOR_MS})", "as": "v"}


def _main(chart: Chart) -> Spec:
    encoding: Spec = {
        "x": _time(),
        "y": value_axis(chart.unit, log=chart.log, stack=chart.shape == "areas"),
        "color": {"field": "c", "type": "nominal", "scale": None},
    }
    if chart.shape == "lines":
        encoding |= {
            "detail": {"field": "s"},
            "strokeDash": {"field": "d", "scale": None},
            "strokeWidth": {"field": "w", "type": "quantitative", "scale": None},
        }
    if chart.shape == "areas":
        encoding |= {"detail": {"field": "s"}, "order": {"field": "i", "type": "quantitative"}}
    transform: list[Json] = [_at_least_the_floor()] if chart.log else []
    return {
        "data": {"name": "rows"},
        "mark": _MARKS[chart.shape],
        "transform": transform,
        "encoding": encoding,
    }


def _outside() -> Spec:
    """Shade what lies outside the measured span."""
    return {
        "data": {"name": "outside"},
        "mark": {"type": "rect", "color": QUIET, "opacity": 0.14, "clip": True},
        "encoding": {"x": _time(), "x2": {"field": "x2"}},
    }


def _boundaries() -> Spec:
    """Mark where batches begin, at the foot of the chart."""
    foot: Spec = {"value": {"expr": "height - 8"}}
    in_sight: list[Json] = [
        {"filter": "datum.x >= from && datum.x <= to"},
        {"joinaggregate": [{"op": "count", "as": "all"}]},
        {"filter": f"datum.all <= {MARKS_IN_SIGHT}"},
    ]
    return {
        "data": {"name": "boundaries"},
        "transform": in_sight,
        "mark": {"type": "rule", "color": QUIET, "clip": True},
        # In pixels: with none in sight an axis would have nothing to go by.
        "encoding": {
            "x": {"value": {"expr": "scale('x', datum.x)"}},
            "y": foot,
            "y2": {"value": {"expr": "height"}},
        },
    }


def _acts() -> Spec:
    """Mark across the chart what was done on purpose."""
    return {
        "data": {"name": "acts"},
        "mark": {"type": "rule", "color": _LOUD, "strokeDash": [3, 3], "clip": True},
        "encoding": {"x": _time()},
    }


def _lines_beside(chart: Chart) -> list[Spec]:
    """Add the fitted line of the lag, and the number of cores beside what uses them."""
    if chart.name in {"lag", "behind"}:
        line: Spec = {"type": "line", "color": _LOUD, "strokeDash": [6, 3], "clip": True}
        y: Spec = {"field": "v", "type": "quantitative"}
        return [{"data": {"name": "fit"}, "mark": line, "encoding": {"x": _time(), "y": y}}]
    if chart.name in {"cpu", "load"}:
        rule: Spec = {"type": "rule", "color": QUIET, "strokeDash": [2, 3], "clip": True}
        y = {"field": "v", "type": "quantitative"}
        return [
            {
                "data": {"name": "limit"},
                "mark": rule,
                "encoding": {"x": _time(), "x2": {"field": "x2"}, "y": y},
            }
        ]
    return []


def _here() -> Spec:
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "color": QUIET, "clip": True},
        # In pixels: as a value of the axis it would take part in the axis' domain.
        "encoding": {"x": {"value": {"expr": "here === null ? -9 : scale('x', here)"}}},
    }
