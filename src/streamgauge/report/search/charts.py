"""The charts of a search, with their data: its trials, and their latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from streamgauge.report.charts.style import (
    BAD,
    FLOOR_MS,
    GOOD,
    LABELS,
    LOG_MS,
    PALETTE,
    QUIET,
    SIGNS,
)
from streamgauge.report.charts.theme import chart_of
from streamgauge.report.charts.ticks import ticks
from streamgauge.report.search.trials import Kind
from streamgauge.spec.experiment import Interval
from streamgauge.spec.values import Json

HELD, OVER = GOOD, BAD
CEILING_DASH = (7, 4)
_LEAST_MARGIN = 1.12
_MARGIN = 0.06
"""Room at both ends of a logarithmic axis, as a share of what lies between."""


@dataclass(frozen=True)
class Sign:
    """How the trials of one kind are drawn, so that no verdict is shown by its colour alone."""

    colour: str
    path: str
    """An SVG path around the origin, from -1 to 1."""


SIGN_OF: Mapping[Kind, Sign] = {
    "pass": Sign(HELD, SIGNS["circle"]),
    "fail": Sign(OVER, SIGNS["cross"]),
    "invalid": Sign(QUIET, SIGNS["diamond"]),
    "inconclusive": Sign(PALETTE[4], SIGNS["up"]),
    "guess": Sign(PALETTE[0], SIGNS["square"]),
}


@dataclass(frozen=True)
class Point:
    """One trial as the charts show it."""

    trial: int
    rate: float
    kind: Kind
    says: str
    """What is shown at the cursor."""
    latency_ms: float | None = None

    def row(self) -> Json:
        """Return the row for Vega-Lite."""
        floored = None if self.latency_ms is None else max(self.latency_ms, FLOOR_MS)
        return {
            "trial": self.trial,
            "rate": self.rate,
            "kind": self.kind,
            "says": self.says,
            "latency": floored,
        }


def rates_chart(
    trials: Sequence[int],
    points: Sequence[Point],
    brackets: Sequence[Interval],
    ceiling: float | None,
) -> alt.LayerChart:
    """Draw the rates in the order of the trials, between the ends of the bracket.

    Args:
        trials: The numbers of all trials, also of those without a point.
        points: What is drawn of them.
        brackets: The ends after each trial.
        ceiling: The rate that `noop` kept up with; None where it was not measured.
    """
    rates = [*(point.rate for point in points), *filter(None, [ceiling])]
    x, y = _order(trials), _logarithmic(LABELS["1/s"], rates)
    ends = chart_of(_ends(trials, brackets)).encode(x=x)
    layers = [
        ends.mark_area(color=QUIET, opacity=0.13).encode(y=alt.Y("low:Q", **y), y2="high"),
        ends.mark_line(color=HELD, strokeWidth=1.8).encode(y=alt.Y("low:Q", **y)),
        ends.mark_line(color=OVER, strokeWidth=1.8).encode(y=alt.Y("high:Q", **y)),
    ]
    if ceiling:
        rule = chart_of([{"rate": ceiling}]).mark_rule(
            color=QUIET, strokeWidth=1.8, strokeDash=CEILING_DASH
        )
        layers.append(rule.encode(y=alt.Y("rate:Q", **y)))
    return alt.LayerChart(layer=[*layers, _points(points).encode(x=x, y=alt.Y("rate:Q", **y))])


def latency_chart(points: Sequence[Point], found: float | None) -> alt.LayerChart:
    """Draw latencies over rates, with a line at the rate that was found."""
    known = [point for point in points if point.latency_ms is not None]
    latencies = [max(point.latency_ms or 0.0, FLOOR_MS) for point in known]
    rates = [*(point.rate for point in known), *filter(None, [found])]
    x = alt.X("rate:Q", **_logarithmic(LABELS["1/s"], rates))
    layers = [_points(known).encode(x=x, y=alt.Y("latency:Q", **_logarithmic(LOG_MS, latencies)))]
    if found:
        line = chart_of([{"rate": found}]).mark_rule(color=HELD, strokeWidth=1.8)
        layers.insert(0, line.encode(x=x))
    return alt.LayerChart(layer=layers)


def _ends(trials: Sequence[int], brackets: Sequence[Interval]) -> list[Json]:
    """Return each bracket from its trial to the next: a line breaks where an end is not known."""
    until = [*trials[1:], trials[-1] + 0.5]
    return [
        {"trial": at, "low": low, "high": high}
        for begin, end, (low, high) in zip(trials, until, brackets, strict=True)
        for at in (begin, end)
    ]


def _points(points: Sequence[Point]) -> alt.Chart:
    kinds = list(SIGN_OF)
    colours = alt.Scale(domain=kinds, range=[sign.colour for sign in SIGN_OF.values()])
    shapes = alt.Scale(domain=kinds, range=[sign.path for sign in SIGN_OF.values()])
    drawn = chart_of(point.row() for point in points)
    return drawn.mark_point(filled=True, size=130, opacity=0.9).encode(
        color=alt.Color("kind:N", scale=colours),
        shape=alt.Shape("kind:N", scale=shapes),
        tooltip="says:N",
    )


def _order(trials: Sequence[int]) -> alt.X:
    axis = alt.Axis(
        title=None,
        grid=False,
        values=trials,
        labelExpr="'#' + datum.value",
        labelOverlap="greedy",
        labelSeparation=6,
    )
    domain = [min(trials) - 0.5, max(trials) + 0.5]
    return alt.X("trial:Q", axis=axis, scale=alt.Scale(domain=domain, nice=False, zero=False))


def _logarithmic(label: str, values: Sequence[float]) -> dict[str, Any]:
    """Return axis and scale of values, with round numbers as labels."""
    margin = max(_LEAST_MARGIN, (max(values) / min(values)) ** _MARGIN)
    low, high = min(values) / margin, max(values) * margin
    axis = alt.Axis(
        title=None,
        values=ticks(low, high),
        labelExpr=label,
        labelOverlap="greedy",
        labelSeparation=6,
        labelFlush=False,
    )
    return {"axis": axis, "scale": alt.Scale(type="log", domain=[low, high], nice=False)}
