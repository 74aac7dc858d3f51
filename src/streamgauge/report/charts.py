"""The charts of a trial in Vega-Lite; the data come in when a chart is drawn.

Rows have a time or place `x`, a value `v`, their series `s`, its number `i`, colour `c` and dash
`d`. A colour never stands alone: series also differ by dash, by order or by their label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from streamgauge.spec.contracts import Json

Shape = Literal["lines", "areas", "points"]
Unit = Literal["ms", "s", "records", "1/s", "cores", "MiB", "MiB/s", ""]
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
_QUIET = "#7d8590"
_LOUD = "#d55e00"
_LABELS: Mapping[Unit, str] = {
    "ms": (
        "datum.value < 1 ? '< 1 ms' : datum.value < 1000 ? format(datum.value, '~r') + ' ms'"
        " : format(datum.value / 1000, '~r') + ' s'"
    ),
    "s": "format(datum.value, '~r') + ' s'",
    "records": "format(datum.value, '~s')",
    "1/s": "format(datum.value, '~s') + '/s'",
    "cores": "format(datum.value, '~r')",
    "MiB": (
        "datum.value < 1024 ? format(datum.value, '~r') + ' MiB'"
        " : format(datum.value / 1024, '~r') + ' GiB'"
    ),
    "MiB/s": "format(datum.value, '~r') + ' MiB/s'",
    "": "format(datum.value, '~r')",
}
_PERCENT = (
    "datum.value == 0 ? '0' : datum.value < 1 ? '50 %'"
    " : format(100 - 100 * pow(10, -datum.value), '~r') + ' %'"
)


@dataclass(frozen=True)
class Chart:
    """A chart over time: what it is called, what it shows, how it is drawn."""

    name: str
    title: str
    note: str
    unit: Unit
    shape: Shape = "lines"
    log: bool = False
    height: int = 170

    def spec(self) -> Spec:
        """Return the chart in Vega-Lite, without data."""
        return _layered(
            self.height, [_outside(), *_marks(), _main(self), *_lines_beside(self), _cursor()]
        )


TIME_CHARTS = (
    Chart("input", "Input rate", "Records per second: due, handed over, and in the log.", "1/s"),
    Chart("output", "Output rate", "Outputs per second, by the time at which they came.", "1/s"),
    Chart("lag", "Lag", "Records in the log that the engine has not finished.", "records"),
    Chart(
        "behind",
        "Behind",
        "Age of the oldest input whose output was not there yet; of the lag in records this engine"
        " tells too little.",
        "s",
    ),
    Chart(
        "latency",
        "Latency",
        "Percentiles, as far as the outputs carry them, by the time the latest input was due.",
        "ms",
        log=True,
        height=230,
    ),
    Chart(
        "singles",
        "Single latencies",
        "One dot per output: some, evenly chosen, and the slowest of each time.",
        "ms",
        shape="points",
        log=True,
        height=230,
    ),
    Chart(
        "event_latency",
        "Event-time latency",
        "From the time at which the latest input was due; this includes what the driver added.",
        "ms",
        log=True,
    ),
    Chart("window_latency", "Window latency", "From the end of the window.", "ms", log=True),
    Chart("cpu", "CPU by role", "Cores in use, stacked.", "cores", shape="areas"),
    Chart("load", "System load", "Average over one minute, and cores lost to others.", ""),
    Chart("memory", "Memory by role", "Resident, stacked.", "MiB", shape="areas"),
    Chart("disk", "Disk by role", "Bytes written per second.", "MiB/s"),
    Chart("network", "Network", "Bytes per second by interface, both ways.", "MiB/s"),
    Chart("batches", "Batch phases", "Mean time per batch, stacked.", "ms", shape="areas"),
)


def distribution() -> Spec:
    """Return the chart of percentiles over an axis that gives each further nine the same room."""
    axis: Spec = {
        "values": [0, 0.30103, 1, 2, 3, 4, 5, 6, 7],
        "labelExpr": _PERCENT,
        "title": None,
        "labelFlush": True,
    }
    lines: Spec = {
        "data": {"name": "rows"},
        "mark": {"type": "line", "clip": True},
        "transform": [_at_least_the_floor()],
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "scale": _shared_domain(), "axis": axis},
            "y": _value("ms", log=True),
            "detail": {"field": "s"},
            "color": {"field": "c", "type": "nominal", "scale": None},
            "strokeDash": {"field": "d", "scale": None},
            "strokeWidth": {"field": "w", "type": "quantitative", "scale": None},
            "strokeOpacity": {"field": "o", "type": "quantitative", "scale": None},
        },
    }
    return _layered(260, [lines, _cursor()])


def palette() -> Json:
    """Return colours and dashes for the page's script, which gives them to series in order."""
    dashes: list[Json] = [list(dash) for dash in DASHES]
    return {"colours": list(PALETTE), "dashes": dashes}


def _layered(height: int, layers: Sequence[Spec]) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
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
        "axis": {
            "title": None,
            "labelExpr": "format(datum.value, '~r') + ' s'",
            "labelFlush": True,
            "tickCount": {"expr": "width / 90"},
        },
    }


def _shared_domain() -> Spec:
    return {
        "domainMin": {"expr": "from"},
        "domainMax": {"expr": "to"},
        "nice": False,
        "zero": False,
    }


def _value(unit: Unit, *, log: bool, stack: bool = False) -> Spec:
    axis: Spec = {"title": None, "labelExpr": _LABELS[unit], "tickCount": 5, "labelLimit": 70}
    scale: Spec = {"type": "log", "nice": True} if log else {"zero": True, "nice": True}
    value: Spec = {"field": "v", "type": "quantitative", "axis": axis, "scale": scale}
    return {**value, "stack": "zero" if stack else None}


def _at_least_the_floor() -> Spec:
    return {"calculate": f"max(datum.v, {FLOOR_MS})", "as": "v"}


def _main(chart: Chart) -> Spec:
    marks: Mapping[Shape, Spec] = {
        "lines": {"type": "line", "strokeWidth": 1.6, "clip": True, "interpolate": "linear"},
        "areas": {"type": "area", "fillOpacity": 0.85, "clip": True},
        "points": {"type": "circle", "size": 9, "opacity": 0.55, "clip": True},
    }
    encoding: Spec = {
        "x": _time(),
        "y": _value(chart.unit, log=chart.log, stack=chart.shape == "areas"),
        "color": {"field": "c", "type": "nominal", "scale": None},
    }
    if chart.shape != "points":
        encoding |= {"detail": {"field": "s"}, "order": {"field": "i", "type": "quantitative"}}
    if chart.shape == "lines":
        # The order along a line is that of its points.
        encoding |= {"order": {"field": "x", "type": "quantitative"}}
        encoding |= {"strokeDash": {"field": "d", "scale": None}}
    transform: list[Json] = [_at_least_the_floor()] if chart.log else []
    return {
        "data": {"name": "rows"},
        "mark": marks[chart.shape],
        "transform": transform,
        "encoding": encoding,
    }


def _outside() -> Spec:
    """Shade what lies outside the measured span."""
    return {
        "data": {"name": "outside"},
        "mark": {"type": "rect", "color": _QUIET, "opacity": 0.14, "clip": True},
        "encoding": {"x": _time(), "x2": {"field": "x2"}},
    }


def _marks() -> list[Spec]:
    """Mark the boundaries of batches at the foot of the chart, and what was done on purpose across it."""
    foot: Spec = {
        "data": {"name": "boundaries"},
        "mark": {"type": "rule", "color": _QUIET, "clip": True},
        "encoding": {
            "x": _time(),
            "y": {"value": {"expr": "height - 7"}},
            "y2": {"value": {"expr": "height"}},
        },
    }
    across: Spec = {
        "data": {"name": "acts"},
        "mark": {"type": "rule", "color": _LOUD, "strokeDash": [3, 3], "clip": True},
        "encoding": {"x": _time()},
    }
    return [foot, across]


def _lines_beside(chart: Chart) -> list[Spec]:
    """Add the fitted line of the lag, and the number of cores beside what uses them."""
    if chart.name in {"lag", "behind"}:
        line: Spec = {"type": "line", "color": _LOUD, "strokeDash": [6, 3], "clip": True}
        y: Spec = {"field": "v", "type": "quantitative"}
        return [{"data": {"name": "fit"}, "mark": line, "encoding": {"x": _time(), "y": y}}]
    if chart.name in {"cpu", "load"}:
        rule: Spec = {"type": "rule", "color": _QUIET, "strokeDash": [2, 3], "clip": True}
        y = {"field": "v", "type": "quantitative"}
        return [
            {
                "data": {"name": "limit"},
                "mark": rule,
                "encoding": {"x": _time(), "x2": {"field": "x2"}, "y": y},
            }
        ]
    return []


def _cursor() -> Spec:
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "color": _QUIET, "clip": True},
        # In pixels: as a value of the axis it would take part in the axis' domain.
        "encoding": {"x": {"value": {"expr": "here === null ? -9 : scale('x', here)"}}},
    }
