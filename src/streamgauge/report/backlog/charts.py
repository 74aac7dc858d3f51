"""Window methods over their overlap: what was measured as points, the model as a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from streamgauge.experiments.backlog import BY_METHOD, Backlogs, WorkedOff
from streamgauge.measure.window_methods import METHODS, Method
from streamgauge.report.charts.style import LABELS, PALETTE, SIGNS
from streamgauge.report.charts.theme import chart_of, themed
from streamgauge.report.charts.ticks import ticks

_WIDTH, _HEIGHT = 270, 230
_COLOURS = dict(zip(METHODS, PALETTE[: len(METHODS)], strict=True))
_SHAPES = dict(zip(METHODS, (SIGNS[name] for name in ("circle", "square", "up")), strict=True))
_SIZE = "format(datum.value, '~r') + ' MiB'"
_MIB = 1 << 20


@dataclass(frozen=True)
class Told:
    """What a chart shows."""

    title: str
    note: str
    label: str
    value: Callable[[WorkedOff], float | None]


CHARTS: Mapping[str, Told] = {
    "rate": Told(
        "records worked off per second, over overlapping windows",
        "Points are trials. Lines are the model: a cost for each record and one for each addition,"
        " both fitted to the points of a method.",
        LABELS["1/s"],
        lambda each: each.rate,
    ),
    "state": Told(
        "state, over overlapping windows",
        "The maximum, as the engine reports it: in memory, or in the files of RocksDB.",
        _SIZE,
        lambda each: each.state_bytes / _MIB if each.state_bytes else None,
    ),
}


def panels(found: Backlogs) -> list[str]:
    """Name what distinguishes trials besides method and windows: a panel for each."""
    return list(dict.fromkeys(_panel(each) for each in found.worked_off if each.windows))


def charts(found: Backlogs) -> dict[str, Told]:
    """Return the charts that have something to show: an engine may report no state."""
    of = [each for each in found.worked_off if each.windows]
    return {name: chart for name, chart in CHARTS.items() if any(map(chart.value, of))}


def panel_chart(found: Backlogs, name: str, panel: str) -> alt.TopLevelMixin:
    """Draw one of the charts of a panel."""
    chart = _drawn(found, name, panel).properties(width="container", height=_HEIGHT)
    return themed(chart, _methods(found))


def picture_of_windows(found: Backlogs) -> alt.TopLevelMixin:
    """Draw all of them, for a page of text."""
    rows = [
        alt.hconcat(
            *(
                _drawn(found, name, panel).properties(
                    title=panel or chart.title, width=_WIDTH, height=_HEIGHT
                )
                for panel in panels(found)
            )
        )
        for name, chart in charts(found).items()
    ]
    return themed(alt.vconcat(*rows), _methods(found), picture=True)


def _drawn(found: Backlogs, name: str, panel: str) -> alt.LayerChart:
    chart, methods = CHARTS[name], _methods(found)
    points = [row for each in found.worked_off if each.windows and (row := _row(each, chart))]
    lines = list(_model(found)) if name == "rate" else []
    values = [row["value"] for row in (*points, *lines)]
    x, y = _overlaps(points), _values(values, chart.label)
    colours, shapes = ([of[each] for each in methods] for of in (_COLOURS, _SHAPES))
    colour = alt.Color("method:N", scale=alt.Scale(domain=methods, range=colours))
    shape = alt.Shape("method:N", scale=alt.Scale(domain=methods, range=shapes))
    signs = chart_of(_of(points, panel)).mark_point(filled=True, size=80, opacity=1)
    drawn = [signs.encode(x=x, y=y, color=colour, shape=shape, tooltip="says:N")]
    if lines:
        model = chart_of(_of(lines, panel)).mark_line(strokeWidth=1.5)
        drawn.insert(0, model.encode(x=x, y=y, color=colour))
    return alt.LayerChart(layer=drawn)


def _of(rows: Sequence[dict[str, Any]], panel: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["panel"] == panel]


def _overlaps(points: Sequence[dict[str, Any]]) -> alt.X:
    overlaps = sorted({row["overlap"] for row in points})
    axis = alt.Axis(title="overlapping windows", values=overlaps, grid=False)
    return alt.X("overlap:Q", axis=axis, scale=alt.Scale(type="log", nice=False, padding=14))


def _values(values: Sequence[float], label: str) -> alt.Y:
    low, high = min(values) / 1.15, max(values) * 1.15
    axis = alt.Axis(title=None, values=ticks(low, high), labelExpr=label)
    return alt.Y("value:Q", axis=axis, scale=alt.Scale(type="log", domain=[low, high], nice=False))


def _model(found: Backlogs) -> Iterator[dict[str, Any]]:
    """Yield what the model predicts for each trial."""
    costs = {cost.method: cost for cost in found.costs}
    for each in found.worked_off:
        if each.windows is not None and (cost := costs.get(each.windows.method)):
            took_us = cost.record_us + cost.addition_us * each.windows.additions
            yield {**_place(each), "value": 1e6 / took_us}


def _row(each: WorkedOff, told: Told) -> dict[str, Any] | None:
    value = told.value(each)
    return {**_place(each), "value": value, "says": f"trial {each.trial}"} if value else None


def _place(each: WorkedOff) -> dict[str, Any]:
    assert each.windows is not None
    return {
        "method": each.windows.method,
        "overlap": each.windows.overlap,
        "panel": _panel(each),
    }


def _panel(each: WorkedOff) -> str:
    """Name what distinguishes trials besides method and window."""
    other = {n: v for n, v in each.factors.items() if n not in {BY_METHOD, "P.window", "P.slide"}}
    return ", ".join(f"{name} {value}" for name, value in other.items())


def _methods(found: Backlogs) -> list[Method]:
    there = {each.windows.method for each in found.worked_off if each.windows}
    return [method for method in METHODS if method in there]
