"""The grid of a search's cells, and the lag of each of its trials over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import altair as alt

from streamgauge.experiments.scalability.answer import Scaling, Search, Tried
from streamgauge.experiments.scalability.grid import Outcome
from streamgauge.experiments.scalability.ladder import size_of
from streamgauge.report.charts.style import BAD, GOOD, LABELS, QUIET
from streamgauge.report.charts.theme import chart_of
from streamgauge.spec.trial import TrialResult
from streamgauge.spec.values import Json
from streamgauge.units import format_rate

LAG = "lag.trend"
COLOURS: Mapping[Outcome, str] = {"pass": GOOD, "fail": BAD, "untold": QUIET}
_COLUMNS = 4
_PANEL = 190, 110


def told(tried: Tried) -> str:
    """Write verdict and slope of a cell; a trial that was cut short is marked."""
    slope = tried.values.get(LAG)
    parts = [tried.outcome.upper() if tried.outcome == "fail" else tried.outcome]
    parts += [] if slope is None else [format_rate(slope)]
    return " ".join([*parts, *(["cut"] if tried.cut else [])])


def grid_rows(answer: Scaling, search: Search) -> tuple[list[str], list[list[str]]]:
    """Return the resources, and a row for each load with the outcome of each of them."""
    loads = _ordered(answer.load, {each.load for each in search.tried})
    resources = _ordered(answer.resources, {each.resources for each in search.tried})
    cells = {(each.load, each.resources): told(each) for each in search.tried}
    return resources, [
        [load, *(cells.get((load, size), "·") for size in resources)] for load in loads
    ]


def _ordered(factor: str, values: set[str]) -> list[str]:
    return sorted(values, key=lambda value: size_of(factor, value))


def lag_chart(search: Search, results: Sequence[TrialResult]) -> alt.ConcatChart | None:
    """Draw the lag of each trial over time; None where none is known."""
    of = {result.spec.number: result for result in results}
    panels = [
        _panel(f"#{number} {each.load}, {each.resources}: {each.outcome}", each, of[number])
        for each in search.tried
        for number in each.trials
        if number in of and of[number].lag is not None
    ]
    return alt.concat(*panels, columns=_COLUMNS) if panels else None


def _panel(title: str, tried: Tried, result: TrialResult) -> alt.Chart:
    width, height = _PANEL
    y = alt.Axis(title=None, labelExpr=LABELS["records"], tickCount=3)
    x = alt.Axis(title=None, labelExpr=LABELS["s"], tickCount=3)
    panel: alt.Chart = (
        chart_of(_points(result))
        .mark_line(color=COLOURS[tried.outcome], strokeWidth=1.8)
        .encode(x=alt.X("t:Q", axis=x), y=alt.Y("lag:Q", axis=y))
        .properties(title=title, width=width, height=height)
    )
    return panel


def _points(result: TrialResult) -> Iterator[Json]:
    assert result.lag is not None
    for place, lag in enumerate(result.lag.lags):
        yield {"t": place * result.lag.step_s, "lag": lag}
