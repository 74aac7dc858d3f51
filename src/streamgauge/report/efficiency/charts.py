"""Charts of costs over the load: stacked by task, as lines, and the bytes sent per record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from streamgauge.experiments.efficiency import TOTAL, Efficiency, Line, Point
from streamgauge.report.charts.style import LABELS, PALETTE, QUIET
from streamgauge.report.charts.theme import chart_of, themed
from streamgauge.report.efficiency.tables import group_name, places, task_names
from streamgauge.units import format_duration, format_rate

_REST = "others"
_MICRO = 1e6
_HEIGHT = 300
_WIDTH = 520
_BRIGHT = [each for each in PALETTE if each != QUIET]


def cost_chart(points: Sequence[Point], *, shares: bool = False) -> alt.TopLevelMixin:
    """Draw a bar for each point: its tasks by their cost, or by their shares of it."""
    chart = _bars(points, shares=shares).properties(width="container", height=_HEIGHT)
    return themed(chart, [*_names(points), _REST])


def lines_chart(points: Sequence[Point], lines: Sequence[Line]) -> alt.TopLevelMixin | None:
    """Draw CPU time over the load, with a line through the points of each task; None without."""
    if not lines:
        return None
    chart = _lines(points, lines).properties(width="container", height=_HEIGHT)
    return themed(chart, [TOTAL, *_names(points), *_groups(lines)])


def picture_of_costs(answer: Efficiency) -> alt.TopLevelMixin:
    """Draw costs by task over the load, and the lines through them, for a page of text."""
    rows = []
    for query in dict.fromkeys(point.query for point in answer.points):
        points = [point for point in answer.points if point.query == query]
        lines = [line for line in answer.lines if line.query == query]
        drawn: list[alt.Chart | alt.LayerChart] = [
            _bars(points).properties(title=f"{query}: CPU time per record")
        ]
        if lines:
            drawn.append(_lines(points, lines).properties(title=f"{query}: cores over the load"))
        sized = (each.properties(width=_WIDTH, height=_HEIGHT) for each in drawn)
        rows.append(alt.hconcat(*sized).resolve_scale(color="independent"))
    chart = alt.vconcat(*rows).resolve_scale(color="independent")
    return themed(chart, [TOTAL, *_names(answer.points)], picture=True)


def _bars(points: Sequence[Point], *, shares: bool = False) -> alt.Chart:
    names, at = _names(points), places(points)
    scale = alt.Scale(domain=[*names, _REST], range=[*_BRIGHT[: len(names)], QUIET])
    rows = [
        row
        for point, place in zip(points, at, strict=True)
        for row in _rows(point, place, names, shares=shares)
    ]
    axis = alt.Axis(title=None, labelExpr="datum.value + ' %'" if shares else "datum.value + ' µs'")
    bars: alt.Chart = chart_of(rows).mark_bar()
    encoded: alt.Chart = bars.encode(
        x=alt.X("at:N", sort=at, axis=_places()),
        y=alt.Y("value:Q", stack="zero", axis=axis),
        color=alt.Color("task:N", scale=scale),
        order=alt.Order("rank:Q"),
        tooltip=["task:N", "at:N", "cost:N"],
    )
    return encoded


def _lines(points: Sequence[Point], lines: Sequence[Line]) -> alt.LayerChart:
    names, groups = [TOTAL, *_names(points)], _groups(lines)
    shown = [line for line in lines if line.task in names]
    scale = alt.Scale(domain=names, range=[QUIET, *_BRIGHT[: len(names) - 1]])
    x = alt.X("rate:Q", axis=alt.Axis(title="load", labelExpr=LABELS["1/s"], tickCount=6))
    y = alt.Y("cores:Q", axis=alt.Axis(title="cores", labelExpr=LABELS["cores"]))
    same = {"x": x, "y": y, "color": alt.Color("task:N", scale=scale)}
    fits = chart_of(row for line in shown for row in _fit(line, points))
    signs = chart_of(row for line in shown for row in _measured(line, points))
    drawn = [
        fits.mark_line(strokeWidth=1.5).encode(**same, detail="group:N"),
        signs.mark_point(filled=True, size=70, opacity=1).encode(**same, tooltip="says:N"),
    ]
    if len(groups) > 1:
        drawn[0] = drawn[0].encode(strokeDash=alt.StrokeDash("group:N", sort=groups))
        drawn[1] = drawn[1].encode(shape=alt.Shape("group:N", sort=groups))
    return alt.LayerChart(layer=drawn)


def _of_line(line: Line, points: Sequence[Point]) -> list[Point]:
    asked = line.query, line.factors, line.profiled_by
    return [each for each in points if (each.query, each.factors, each.profiled_by) == asked]


def _fit(line: Line, points: Sequence[Point]) -> Iterator[dict[str, str | float]]:
    for rate in (0.0, max(point.rate for point in _of_line(line, points))):
        cores = line.base + line.per_record * rate
        yield {"task": line.task, "group": group_name(line), "rate": rate, "cores": cores}


def _measured(line: Line, points: Sequence[Point]) -> Iterator[dict[str, str | float]]:
    for point in _of_line(line, points):
        cost = next((each.cost for each in point.tasks if each.task == line.task), 0.0)
        yield {
            "task": line.task,
            "group": group_name(line),
            "rate": point.rate,
            "cores": cost * point.rate,
            "says": f"{line.task} at {format_rate(point.rate)}: {format_duration(cost)} a record",
        }


def _groups(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(map(group_name, lines)))


def _names(points: Sequence[Point]) -> list[str]:
    """Return the tasks that have a colour of their own."""
    return [name for name in task_names(points) if name != TOTAL][: len(_BRIGHT)]


def network_chart(points: Sequence[Point]) -> alt.TopLevelMixin | None:
    """Draw the bytes per record; None where they were not counted."""
    rows = [
        {"at": place, "value": point.network, "what": "network"}
        for point, place in zip(points, places(points), strict=True)
        if point.network is not None
    ]
    if not rows:
        return None
    encoded = (
        chart_of(rows)
        .mark_bar()
        .encode(
            x=alt.X("at:N", sort=places(points), axis=_places()),
            y=alt.Y("value:Q", axis=alt.Axis(title=None, labelExpr="datum.value + ' B'")),
            color=alt.Color("what:N", scale=alt.Scale(domain=["network"], range=[PALETTE[0]])),
        )
    )
    return themed(encoded.properties(width="container", height=220), ["network"])


def _places() -> alt.Axis:
    """Return an axis on which each factor has a line of its own, so that labels fit."""
    lines = "split(datum.label, ', ')"
    return alt.Axis(title=None, labelAngle=0, labelLimit=220, labelExpr=lines)


def _rows(
    point: Point, place: str, names: Sequence[str], *, shares: bool
) -> list[dict[str, str | float]]:
    found = {each.task: each for each in point.tasks if each.task != TOTAL}
    parts = [(name, [found[name]] if name in found else []) for name in names]
    parts.append((_REST, [each for name, each in found.items() if name not in names]))
    return [
        {
            "task": name,
            "at": place,
            "rank": rank,
            "value": sum(each.share * 100 if shares else each.cost * _MICRO for each in costs),
            "cost": f"{format_duration(sum(each.cost for each in costs))} per record",
        }
        for rank, (name, costs) in enumerate(parts)
    ]
