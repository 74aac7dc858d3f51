"""The chart of a comparison: each ratio with its interval around 1.0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from streamgauge.comparison.compare import Comparison
from streamgauge.comparison.ratio import Ratio
from streamgauge.comparison.wording import Row, headline_metrics, rows
from streamgauge.report.charts.style import BAD, GOOD, NEUTRAL, SIGNS
from streamgauge.report.charts.theme import chart_of, themed

_KINDS = {
    "better": (GOOD, SIGNS["up"]),
    "worse": (BAD, SIGNS["down"]),
    "no difference": (NEUTRAL, SIGNS["circle"]),
    "neither better nor worse": (NEUTRAL, SIGNS["diamond"]),
    "too few trials": (NEUTRAL, SIGNS["cross"]),
}
_ABOVE = (1.02, 1.05, 1.1, 1.2, 1.5, 2, 5, 10, 20, 50, 100)
_ROOM = 1.15
_ROW = 24


def forest(comparison: Comparison, further: Sequence[str] = ()) -> alt.TopLevelMixin | None:
    """Draw each metric's ratio with its interval around 1.0; None when there is no ratio."""
    several = len(comparison.pairs) > 1
    drawn = [
        _bar(f"{pair.name} · {row.metric}" if several else row.metric, row, each.ratio)
        for pair in comparison.pairs
        for each in headline_metrics(pair, further)
        for row in rows([each])
        if each.ratio is not None
    ]
    if not drawn:
        return None
    low, high = _domain(drawn)
    for bar in drawn:  # an infinite interval ends at the frame
        for name in ("value", "low", "high"):
            bar[name] = min(max(bar[name], low), high)
    return _forest(drawn, low, high)


def _bar(label: str, row: Row, ratio: Ratio) -> dict[str, Any]:
    kind = {True: "better", False: "worse", None: "neither better nor worse"}[row.improves]
    if row.word in ("no difference", "too few trials"):
        kind = row.word
    return {
        "metric": label,
        "verdict": kind,
        "value": ratio.value,
        "low": ratio.value if ratio.low is None else ratio.low,
        "high": ratio.value if ratio.high is None else ratio.high,
        "ratio": f"{row.ratio} ({row.interval}): {row.word}",
        "base": row.base,
        "other": row.other,
    }


def _domain(drawn: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    ends = [each[name] for each in drawn for name in ("low", "value", "high")]
    known = [abs(math.log(end)) for end in ends if 0 < end < math.inf]
    reach = math.exp(min(max(known, default=0.0), math.log(100))) * _ROOM
    return 1 / reach, reach


def _ticks(reach: float) -> list[float]:
    """Choose well-spaced round numbers, and below 1 their inverses."""
    above: list[float] = []
    for each in _ABOVE:
        if each <= reach and math.log(each / (above or [1])[-1]) >= math.log(reach) / 6:
            above.append(each)
    return [*(round(1 / each, 2) for each in reversed(above)), 1, *above]


def _forest(drawn: list[dict[str, Any]], low: float, high: float) -> alt.TopLevelMixin:
    order = [each["metric"] for each in drawn]
    kinds = [kind for kind in _KINDS if any(each["verdict"] == kind for each in drawn)]
    colours, shapes = zip(*(_KINDS[kind] for kind in kinds), strict=True)
    base = chart_of(drawn).encode(
        y=alt.Y("metric:N", sort=order, title=None, axis=alt.Axis(labelLimit=230, grid=True)),
        color=alt.Color("verdict:N", scale=alt.Scale(domain=kinds, range=colours)),
        tooltip=[alt.Tooltip(f"{name}:N") for name in ("metric", "ratio", "base", "other")],
    )
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(
        values=_ticks(high),
        format="~r",
        title="other ÷ base",
        labelOverlap="greedy",
        labelSeparation=6,
    )
    bars = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q"
    )
    points = base.mark_point(size=110, filled=True, opacity=1).encode(
        x=alt.X("value:Q", scale=scale),
        shape=alt.Shape("verdict:N", scale=alt.Scale(domain=kinds, range=shapes)),
    )
    one = chart_of([{"one": 1.0}]).mark_rule(color=NEUTRAL, strokeDash=[4, 3])
    layers = alt.layer(one.encode(x=alt.X("one:Q", scale=scale)), bars, points)
    return themed(layers.properties(width="container", height=_ROW * len(drawn)), kinds)
