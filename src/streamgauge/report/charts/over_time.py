"""Charts over a trial's time, without their data, which is added when a chart is drawn.

Rows have a time or place `x`, a value `v`, their series `s`, its number `i`, colour `c` and dash
`d`. No series is identified by colour alone: they also differ by dash, by order or by their label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from streamgauge.report.charts.style import (
    DASHES,
    FLOOR_MS,
    LABELS,
    LOG_MS,
    LOUD,
    NINES,
    PALETTE,
    PERCENT,
    PLAIN,
    QUIET,
    Unit,
)
from streamgauge.report.charts.theme import Spec, at_least, chart_of, fitted, spec_of, themed
from streamgauge.report.charts.time_charts import MARKS_IN_SIGHT, Chart
from streamgauge.spec.values import Json

_AXIS_WIDTH = 62
"""The same for all charts, so that a time is at the same place in all of them."""
_WRITTEN = (FLOOR_MS, *(step * 10.0**power for power in range(7) for step in (1, 2, 5)))
"""The labels of a logarithmic axis of a picture."""
_SECONDS: dict[str, Any] = {
    "title": None,
    "labelExpr": f"{PLAIN} + ' s'",
    "labelFlush": True,
    "labelSeparation": 8,
}
_ZOOMED = alt.Scale(
    domainMin=alt.ExprRef(expr="from"), domainMax=alt.ExprRef(expr="to"), nice=False, zero=False
)
_TIME = alt.X("x:Q", scale=_ZOOMED, axis=alt.Axis(**_SECONDS, tickCount=7))


def time_spec(chart: Chart) -> Spec:
    """Return a chart over time."""
    height = 230 if chart.wide and chart.log else 170
    marks = [_acts()] if chart.section == "resources" else [_boundaries(), _acts()]
    return _layered(height, [_outside(), *marks, _main(chart), *_lines_beside(chart), _cursor()])


def distribution_spec() -> Spec:
    """Return the chart of percentiles on an axis that gives each further nine the same room."""
    nines = alt.Axis(values=NINES[:-1], labelExpr=PERCENT, title=None, labelFlush=True)
    lines = at_least(chart_of("rows"), FLOOR_MS).encode(
        x=alt.X("x:Q", scale=_ZOOMED, axis=nines),
        y=value_axis("ms", log=True),
        **_by_line(),
        strokeOpacity=alt.StrokeOpacity("o:Q", scale=None),
    )
    return _layered(260, [lines.mark_line(clip=True), _cursor()])


def small_multiples(
    columns: int, title: str, subtitle: str, rows: Sequence[Json], series: Sequence[str]
) -> alt.TopLevelMixin:
    """Return a picture of many trials: dots for some of their latencies, of some kinds."""
    dots = at_least(chart_of(rows), FLOOR_MS).mark_circle(size=9, opacity=0.55)
    named = [*series] if len(series) > 1 else None
    facet = alt.Facet(
        "trial:N",
        sort=None,
        header=alt.Header(title=None, labelFontSize=12, labelFontWeight="bold"),
    )
    picture = (
        dots.encode(
            x=_plain_time(),
            y=value_axis("ms", log=True, log_values=_WRITTEN),
            color=alt.Color("s:N", scale=alt.Scale(domain=series, range=PALETTE[: len(series)])),
        )
        .properties(width=230, height=130)
        .facet(facet, columns=columns)
        .properties(title=alt.TitleParams(title, subtitle=subtitle, anchor="start", offset=12))
    )
    return themed(picture, named, picture=True)


def panel(chart: Chart, series: Sequence[str], rows: Sequence[Json]) -> alt.Chart:
    """Return a chart over time with its data, as a part of a picture."""
    drawn = chart_of(rows)
    if chart.log:
        drawn = at_least(drawn, FLOOR_MS)
    colours = [PALETTE[place] for place in chart.colours]
    drawn = _marked(drawn, chart).encode(
        x=_plain_time(),
        y=value_axis(chart.unit, log=chart.log, stack=chart.shape == "areas", log_values=_WRITTEN),
        color=alt.Color("s:N", sort=None, scale=alt.Scale(domain=series, range=colours)),
    )
    if chart.shape == "lines":
        dashes = [DASHES[place % len(DASHES)] for place in range(len(series))]
        scale = alt.Scale(domain=series, range=dashes)
        drawn = drawn.encode(strokeDash=alt.StrokeDash("s:N", sort=None, scale=scale))
    return drawn.properties(title=chart.title, width=360, height=130)


def value_axis(
    unit: Unit, *, log: bool = False, stack: bool = False, log_values: Sequence[float] = ()
) -> alt.Y:
    """Return how values are placed and labelled; the page puts values on a logarithmic axis."""
    axis: dict[str, Any] = {
        "title": None,
        "labelExpr": LABELS[unit],
        "minExtent": _AXIS_WIDTH,
        "maxExtent": _AXIS_WIDTH,
    }
    scale = alt.Scale(zero=True, nice=True)
    if log:
        scale = alt.Scale(type="log", nice=False, padding=8)
        axis |= {"values": [*log_values], "labelOverlap": "greedy", "labelExpr": LOG_MS}
    else:
        axis["tickCount"] = 5
    return alt.Y("v:Q", axis=alt.Axis(**axis), scale=scale, stack="zero" if stack else None)


def _layered(height: int, layers: Sequence[alt.Chart]) -> Spec:
    params = [alt.param(name=name, value=value) for name, value in _SIGNALS.items()]
    return spec_of(themed(fitted(alt.layer(*layers).add_params(*params), height)))


_SIGNALS = {"from": 0, "to": 1, "here": None}
"""What the page's script sets: the ends of the visible time, and the cursor."""


def _plain_time() -> alt.X:
    return alt.X("x:Q", axis=alt.Axis(**_SECONDS, tickCount=4), scale=alt.Scale(nice=False))


def _by_line() -> dict[str, Any]:
    """Distinguish series by fields of their rows."""
    return {
        "detail": "s:N",
        "color": alt.Color("c:N", scale=None),
        "strokeDash": alt.StrokeDash("d:N", scale=None),
        "strokeWidth": alt.StrokeWidth("w:Q", scale=None),
    }


def _marked(chart: alt.Chart, declared: Chart) -> alt.Chart:
    if declared.shape == "areas":
        return chart.mark_area(fillOpacity=0.85, clip=True)
    if declared.shape == "points":
        return chart.mark_circle(size=9, opacity=0.65, clip=True)
    # Round ends show a value without neighbours as a dot.
    return chart.mark_line(strokeCap="round", clip=True)


def _main(chart: Chart) -> alt.Chart:
    rows = at_least(chart_of("rows"), FLOOR_MS) if chart.log else chart_of("rows")
    drawn = _marked(rows, chart).encode(
        x=_TIME, y=value_axis(chart.unit, log=chart.log, stack=chart.shape == "areas")
    )
    if chart.shape == "lines":
        return drawn.encode(**_by_line())
    drawn = drawn.encode(color=alt.Color("c:N", scale=None))
    return drawn.encode(detail="s:N", order="i:Q") if chart.shape == "areas" else drawn


def _outside() -> alt.Chart:
    """Shade what lies outside the measured span."""
    shade = chart_of("outside").mark_rect(color=QUIET, opacity=0.14, clip=True)
    return shade.encode(x=_TIME, x2="x2")


def _boundaries() -> alt.Chart:
    """Mark where batches begin, at the foot of the chart."""
    in_sight = (
        chart_of("boundaries")
        .transform_filter("datum.x >= from && datum.x <= to")
        .transform_joinaggregate(all="count()")
        .transform_filter(f"datum.all <= {MARKS_IN_SIGHT}")
    )
    # In pixels: with none in sight an axis would have no domain.
    return in_sight.mark_rule(color=QUIET, clip=True).encode(
        x=_pixels("scale('x', datum.x)"), y=_pixels("height - 8"), y2=_pixels("height")
    )


def _acts() -> alt.Chart:
    """Mark across the chart what was done on purpose."""
    return chart_of("acts").mark_rule(color=LOUD, strokeDash=[3, 3], clip=True).encode(x=_TIME)


def _lines_beside(chart: Chart) -> list[alt.Chart]:
    """Add the fitted line to the lag, and the number of cores to the charts of their use."""
    if chart.name in {"lag", "behind"}:
        line = chart_of("fit").mark_line(color=LOUD, strokeDash=[6, 3], clip=True)
        return [line.encode(x=_TIME, y="v:Q")]
    if chart.name in {"cpu", "load"}:
        rule = chart_of("limit").mark_rule(color=QUIET, strokeDash=[2, 3], clip=True)
        return [rule.encode(x=_TIME, x2="x2", y="v:Q")]
    return []


def _cursor() -> alt.Chart:
    # In pixels: a value of the axis would extend the axis' domain.
    rule = chart_of([{}]).mark_rule(color=QUIET, clip=True)
    return rule.encode(x=_pixels("here === null ? -9 : scale('x', here)"))


def _pixels(expression: str) -> Any:
    return alt.value({"expr": expression})
