"""Searches as a picture for a page of text."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from streamgauge.report.charts.theme import themed
from streamgauge.report.search.charts import SIGN_OF, latency_chart, rates_chart
from streamgauge.report.search.page import SearchView
from streamgauge.report.search.trials import brackets

_WIDTH, _HEIGHT = 360, 270


def searches_picture(views: Sequence[SearchView]) -> alt.TopLevelMixin:
    """Draw each search in a row: rates in the order of the trials, then latency over rate."""
    return themed(alt.vconcat(*map(_row, views)), SIGN_OF, picture=True)


def _row(view: SearchView) -> alt.HConcatChart:
    trials = [trial.number for trial in view.trials]
    rates = rates_chart(trials, view.points(), brackets(view.search), view.ceiling)
    latency = latency_chart(view.latencies(), view.search.rate)
    titled = {
        f"{view.search.query}: rate, trial by trial": rates,
        f"p95 of the {view.kind_of_latency} over the rate": latency,
    }
    return alt.hconcat(
        *(
            chart.properties(title=title, width=_WIDTH, height=_HEIGHT)
            for title, chart in titled.items()
        )
    )
