"""A metric over a factor, for a set of runs: lines or bars with ranges, a chart per machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import altair as alt
from markupsafe import Markup

from streamgauge.files import write_for_user
from streamgauge.metrics import Metric, metric
from streamgauge.report.charts.style import LABELS, PALETTE, SIGNS
from streamgauge.report.charts.theme import chart_of, themed
from streamgauge.report.charts.ticks import ticks
from streamgauge.report.page.figure import chart_figure
from streamgauge.report.page.markup import number, table, tag
from streamgauge.report.page.shell import chart_library, make_page
from streamgauge.results.folder import RunFolder
from streamgauge.results.sweep import Point, sweep
from streamgauge.units import format_rate

_NOTE = "The median of the trials that count, and the range from the smallest to the largest."
_FEW = 12
"""The most values of a factor that all fit on its axis."""
_WIDE = 20
"""From this ratio of the largest to the smallest on, values are drawn on a logarithmic axis."""
_SCALED = {
    "s": (1000.0, "ms"),
    "s/record": (1e6, "µs"),
    "B": (1 / (1 << 20), "MiB"),
    "B/s": (1 / (1 << 20), "MiB/s"),
}


def write_sweep(folders: Sequence[RunFolder], name: str, factor: str, path: Path) -> None:
    """Write a page that shows a metric over a factor: for example its rate.

    Args:
        folders: The runs; only trials that count are shown.
        name: The metric, such as `latency.p99`.
        factor: One of `history.FACTORS`.
        path: File of the page.
    """
    points = sweep(folders, name, factor)
    machines = list(dict.fromkeys(point.machine for point in points))
    title = f"{name} over {factor}"
    charts: list[Markup] = []
    body = [tag("h1", title), tag("p", metric(name).meaning, class_="aside")]
    for position, machine in enumerate(machines):
        chart = sweep_chart(_of(points, machine), name, factor)
        shown, drawn = chart_figure(f"machine{position}", chart, title, _NOTE)
        charts.append(drawn)
        body += [tag("h2", machine), shown, _table(_of(points, machine), name, factor)]
    write_for_user(path, make_page(title, body, charts, chart_library()))


def sweep_chart(points: Sequence[Point], name: str, factor: str) -> alt.TopLevelMixin:
    """Draw the points of one machine, each with its range from smallest to largest trial.

    A factor that is a number or a date gives a line per series; names give bars side by side.
    """
    declared = metric(name)
    scale, unit = _SCALED.get(declared.unit, (1.0, declared.unit))
    series = list(dict.fromkeys(point.series for point in points))
    base = chart_of(_row(each, declared, scale) for each in points).encode(
        x=_axis(factor, points),
        color=alt.Color("series:N", scale=alt.Scale(domain=series, range=_colours(len(series)))),
        tooltip=["series:N", "at:N", "median:N", "range:N", "trials:Q"],
    )
    ends = [end * scale for point in points for end in (point.low, point.high)]
    value = alt.Y("value:Q", **_values(ends, unit, may_be_log=not _is_named(factor, points)))
    layers = (_bars if _is_named(factor, points) else _lines)(base, value, series)
    return themed(alt.layer(*layers).properties(width="container", height=320), series)


def _values(ends: Sequence[float], unit: str, *, may_be_log: bool) -> dict[str, Any]:
    """Place values from zero, or on a logarithmic axis if a few large ones would hide the rest."""
    words = LABELS["ms"] if unit == "ms" else LABELS["1/s"] if unit == "1/s" else _label(unit)
    axis: dict[str, Any] = {"title": None, "labelExpr": words, "tickCount": 6}
    scale: dict[str, Any] = {"zero": True}
    if may_be_log and min(ends) > 0 and max(ends) / min(ends) >= _WIDE:
        axis["values"] = ticks(min(ends), max(ends))
        scale = {"type": "log", "nice": False, "padding": 12}
    return {"axis": alt.Axis(**axis), "scale": alt.Scale(**scale)}


def _label(unit: str) -> str:
    return "format(datum.value, '~s')" + (f" + ' {unit}'" if unit != "1" else "")


def _lines(base: alt.Chart, value: alt.Y, series: Sequence[str]) -> list[alt.Chart]:
    signs = [*SIGNS.values()]
    shapes = [signs[place % len(signs)] for place in range(len(series))]
    shape = alt.Shape("series:N", scale=alt.Scale(domain=series, range=shapes))
    return [
        base.mark_line(strokeWidth=2).encode(y=value),
        base.mark_rule(strokeWidth=2.5).encode(y="low:Q", y2="high:Q"),
        base.mark_point(size=90, filled=True, opacity=1).encode(y=value, shape=shape),
    ]


def _bars(base: alt.Chart, value: alt.Y, series: Sequence[str]) -> list[alt.Chart]:
    beside = base.encode(
        xOffset=alt.XOffset("series:N", scale=alt.Scale(type="band", domain=series))
    )
    return [
        beside.mark_bar(opacity=0.5).encode(y=value),
        beside.mark_rule(strokeWidth=2.5).encode(y="low:Q", y2="high:Q"),
    ]


def _is_named(factor: str, points: Sequence[Point]) -> bool:
    return factor != "date" and isinstance(points[0].factor, str)


def _of(points: Sequence[Point], machine: str) -> list[Point]:
    return sorted(
        (point for point in points if point.machine == machine),
        key=lambda point: (point.series, point.factor),
    )


def _axis(factor: str, points: Sequence[Point]) -> alt.X:
    if factor == "date":
        return alt.X("factor:T", title=None)
    if _is_named(factor, points):
        return alt.X("factor:N", title=factor, axis=alt.Axis(labelAngle=0))
    values = sorted({float(point.factor) for point in points})
    wide = values[0] > 0 and values[-1] / values[0] >= 10
    scale = (
        alt.Scale(type="log", nice=False, padding=20) if wide else alt.Scale(zero=False, padding=20)
    )
    label = LABELS["1/s" if factor == "rate" else "records"]
    written = values if len(values) <= _FEW else alt.Undefined
    axis = alt.Axis(labelExpr=label, labelOverlap="greedy", values=written)
    return alt.X("factor:Q", title=factor, scale=scale, axis=axis)


def _row(point: Point, declared: Metric, scale: float) -> dict[str, Any]:
    low, high = (declared.show(each) for each in (point.low, point.high))
    return {
        "series": point.series,
        "factor": point.factor,
        "at": _factor(point.factor),
        "value": point.median * scale,
        "low": point.low * scale,
        "high": point.high * scale,
        "median": declared.show(point.median),
        "range": f"{low} – {high}",
        "trials": point.trials,
    }


def _factor(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _colours(count: int) -> list[str]:
    return [PALETTE[number % len(PALETTE)] for number in range(count)]


def _table(points: Sequence[Point], name: str, factor: str) -> Markup:
    header = ("what", factor, "median", "smallest", "largest", "trials")
    return table(header, [[*_cells(point, name, factor)] for point in points], caption="All points")


def _cells(point: Point, name: str, factor: str) -> Iterator[str]:
    yield point.series
    if isinstance(point.factor, str):
        yield point.factor
    else:
        at = format_rate(point.factor) if factor == "rate" else _factor(point.factor)
        yield number(at, point.factor)
    for value in (point.median, point.low, point.high):
        yield number(metric(name).show(value), value)
    yield number(str(point.trials), point.trials)
