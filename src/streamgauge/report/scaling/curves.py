"""Demand or capacity as a step curve, of one run or of several, with the model beneath it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from streamgauge.experiments.scalability.answer import Explained, Point, Scaling, Search
from streamgauge.report.charts.style import LABELS, PALETTE, SIGNS
from streamgauge.report.charts.theme import chart_of
from streamgauge.spec.values import Json

_RATE = "rate"
PROPORTIONAL_DASH = (2, 2)
BEYOND_DASH = (6, 3)


@dataclass(frozen=True)
class Curve:
    """What one search found, as the charts show it."""

    name: str
    search: Search
    asked: str
    """The factor that the question is asked for: loads (demand) or resources (capacity)."""
    given: str
    """The factor that answers it."""

    @classmethod
    def of(cls, name: str, answer: Scaling, search: Search) -> Curve:
        """Return the curve of a search."""
        factors = answer.load, answer.resources
        asked, given = factors if answer.metric == "demand" else factors[::-1]
        return cls(name, search, asked, given)

    @property
    def points(self) -> list[tuple[Point, float]]:
        """The points that have an answer, each with its answer."""
        found = ((point, point.found_size) for point in self.search.points)
        return [(point, size) for point, size in found if size is not None]

    def rows(self) -> list[Json]:
        """Return what was found, point by point."""
        return [
            {
                "series": self.name,
                "x": point.size,
                "y": size,
                "says": f"{self.name}\n{self.asked} {point.at}: {self.given} {point.found}",
            }
            for point, size in self.points
        ]

    def proportional(self) -> list[Json]:
        """Return the line from zero through the first point: as if each size added the same."""
        if len(self.points) < 2:
            return []
        (first, size), *_, (last, _) = self.points
        slope = size / first.size
        ends = (first.size, last.size)
        return [{"series": self.name, "x": at, "y": slope * at} for at in ends]


def curves_chart(curves: Sequence[Curve]) -> alt.LayerChart:
    """Draw what was found over what it was asked for, and linear scaling to compare."""
    names = [curve.name for curve in curves]
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(names))]
    shapes = [[*SIGNS.values()][place % len(SIGNS)] for place in range(len(names))]
    colour = alt.Color("series:N", scale=alt.Scale(domain=names, range=colours))
    shape = alt.Shape("series:N", scale=alt.Scale(domain=names, range=shapes))
    asked, given = curves[0].asked, curves[0].given
    x, y = _x("x:Q", asked), _y("y:Q", given)
    found = chart_of([row for curve in curves for row in curve.rows()]).encode(x=x, color=colour)
    line = chart_of([row for curve in curves for row in curve.proportional()]).encode(
        x=x, color=colour
    )
    layers = [
        line.mark_line(strokeWidth=1.2, strokeDash=PROPORTIONAL_DASH).encode(y=y),
        found.mark_line(strokeWidth=2, interpolate="step-after").encode(y=y),
        found.mark_point(filled=True, size=110, opacity=1).encode(
            y=y, shape=shape, tooltip="says:N"
        ),
    ]
    if len(curves) == 1 and (explained := curves[0].search.explained) and explained.curve:
        layers = [*_band(explained, asked, given), *layers]
    return alt.LayerChart(layer=layers)


def _band(explained: Explained, asked: str, given: str) -> list[alt.Chart]:
    """Draw the model with its interval; what was not measured is dashed."""
    base = chart_of(each.model_dump(mode="json") for each in explained.curve)
    base = base.encode(x=_x("size:Q", asked))
    area = base.mark_area(color=PALETTE[5], opacity=0.15)
    lines = [
        base.transform_filter(f"datum.measured == {measured}")
        .mark_line(color=PALETTE[5], strokeWidth=1.6, strokeDash=list(dash))
        .encode(y=_y("middle:Q", given))
        for measured, dash in (("true", ()), ("false", BEYOND_DASH))
    ]
    return [area.encode(y=_y("low:Q", given), y2="high:Q"), *lines]


def _x(field: str, factor: str) -> alt.X:
    return alt.X(field, axis=_axis(factor), scale=alt.Scale(zero=True, nice=False, padding=14))


def _y(field: str, factor: str) -> alt.Y:
    return alt.Y(field, axis=_axis(factor), scale=alt.Scale(zero=True))


def _axis(factor: str) -> alt.Axis:
    label = LABELS["1/s"] if factor == _RATE else LABELS["records"]
    return alt.Axis(title=factor, labelExpr=label, tickCount=6, labelOverlap="greedy")
