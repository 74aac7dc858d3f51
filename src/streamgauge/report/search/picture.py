"""Searches as a picture for a page of text."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.report.charts import vega
from streamgauge.report.search.charts import ladder_spec, latency_spec
from streamgauge.report.search.page import SearchView
from streamgauge.report.search.trials import brackets
from streamgauge.spec.values import Json

_WIDTH = 360


def ladders(views: Sequence[SearchView]) -> vega.Spec:
    """Draw each search in a row: rates in the order of the trials, then latency over rate."""
    rows: list[Json] = []
    for view in views:
        trials = [rung.trial for rung in view.rungs]
        ladder = ladder_spec(trials, view.points(), brackets(view.search), view.ceiling)
        latency = latency_spec(view.latencies(), view.search.rate)
        titles = (
            f"{view.search.query}: rate, trial by trial",
            f"p95 of the {view.kind_of_latency} over the rate",
        )
        charts: list[Json] = [
            {
                "title": title,
                "width": _WIDTH,
                **{name: chart[name] for name in ("height", "encoding", "layer")},
            }
            for title, chart in zip(titles, (ladder, latency), strict=True)
        ]
        rows.append({"hconcat": charts})
    return {"vconcat": rows, "config": vega.picture_config(legend=True)}
