"""A metric over a factor, for a set of runs: lines or bars with ranges, a chart per machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from streamgauge.metrics import Metric, metric
from streamgauge.report.compare_rows import value_text
from streamgauge.report.standalone import PALETTE, configured, element, figure, write_page
from streamgauge.results.folder import RunFolder
from streamgauge.results.history import Point, sweep
from streamgauge.units import format_rate

_SCALED = {"s": (1000.0, "ms"), "B": (1 / (1 << 20), "MiB"), "B/s": (1 / (1 << 20), "MiB/s")}


def write_sweep(folders: Sequence[RunFolder], name: str, factor: str, path: Path) -> None:
    """Write a page that shows a metric over a factor: rate, partitions, cores, mode, engine, date.

    Args:
        folders: The runs; only trials that count are shown.
        name: The metric, as `latency.p99`.
        factor: One of `history.FACTORS`.
        path: File of the page.
    """
    points = sweep(folders, name, factor)
    machines = list(dict.fromkeys(point.machine for point in points))
    charts = {
        f"machine{number}": sweep_chart(_of(points, machine), name, factor)
        for number, machine in enumerate(machines)
    }
    title = f"{name} over {factor}"
    body = [element("h1", title), element("p", metric(name).meaning, "dim")]
    for number, machine in enumerate(machines):
        body.append(element("h2", machine))
        body.append(figure(f"machine{number}", f"{title}: median of the trials and their range."))
        body.append(_table(_of(points, machine), name, factor))
    write_page(path, title, body, charts)


def sweep_chart(points: Sequence[Point], name: str, factor: str) -> alt.TopLevelMixin:
    """Draw the points of one machine, each with its range from smallest to largest trial.

    A factor that is a number or a date gives a line per series, one of names bars side by side.
    """
    declared = metric(name)
    scale, unit = _SCALED.get(declared.unit, (1.0, declared.unit))
    series = list(dict.fromkeys(point.series for point in points))
    base = alt.Chart(
        alt.InlineData(values=[_row(each, declared, scale) for each in points])
    ).encode(
        x=_axis(factor, points),
        color=alt.Color("series:N", scale=alt.Scale(domain=series, range=_colours(len(series)))),
        tooltip=["series:N", "at:N", "median:N", "range:N", "trials:Q"],
    )
    axis = alt.Axis(title=f"{name} in {unit}" if unit != "1" else name)
    draw = _bars if _is_named(factor, points) else _lines
    layers = draw(base, axis, series)
    return configured(alt.layer(*layers).properties(width="container", height=320), series)


def _lines(base: alt.Chart, axis: alt.Axis, series: Sequence[str]) -> list[alt.Chart]:
    value = alt.Y("value:Q", axis=axis, scale=alt.Scale(zero=True))
    shape = alt.Shape("series:N", scale=alt.Scale(domain=series))
    return [
        base.mark_line(strokeWidth=2).encode(y=value),
        base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", axis=axis), y2="high:Q"),
        base.mark_point(size=60, filled=True, opacity=1).encode(y=value, shape=shape),
    ]


def _bars(base: alt.Chart, axis: alt.Axis, series: Sequence[str]) -> list[alt.Chart]:
    beside = base.encode(
        xOffset=alt.XOffset("series:N", scale=alt.Scale(type="band", domain=series))
    )
    value = alt.Y("value:Q", axis=axis, scale=alt.Scale(zero=True))
    return [
        beside.mark_bar(opacity=0.5).encode(y=value),
        beside.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", axis=axis), y2="high:Q"),
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
    return alt.X("factor:Q", title=factor, scale=scale, axis=alt.Axis(values=values, format="~s"))


def _row(point: Point, declared: Metric, scale: float) -> dict[str, Any]:
    low, high = (value_text(declared.name, each) for each in (point.low, point.high))
    return {
        "series": point.series,
        "factor": point.factor,
        "at": _factor(point.factor),
        "value": point.median * scale,
        "low": point.low * scale,
        "high": point.high * scale,
        "median": value_text(declared.name, point.median),
        "range": f"{low} – {high}",
        "trials": point.trials,
    }


def _factor(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _colours(count: int) -> list[str]:
    return [PALETTE[number % len(PALETTE)] for number in range(count)]


def _table(points: Sequence[Point], name: str, factor: str) -> str:
    header = ("what", factor, "median", "smallest", "largest", "trials")
    lines = "".join(
        f"<tr>{''.join(element('td', cell) for cell in _cells(point, name, factor))}</tr>"
        for point in points
    )
    head = "".join(element("th", cell) for cell in header)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _cells(point: Point, name: str, factor: str) -> tuple[str, ...]:
    at = format_rate(float(point.factor)) if factor == "rate" else _factor(point.factor)
    values = (value_text(name, each) for each in (point.median, point.low, point.high))
    return (point.series, at, *values, str(point.trials))
