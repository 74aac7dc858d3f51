"""The picture of a run: the latencies of its first trials over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.errors import UsageError
from streamgauge.report.charts.data.trial import TrialView, label
from streamgauge.report.charts.over_time import small_multiples
from streamgauge.spec.values import Json

if TYPE_CHECKING:
    import altair as alt

    from streamgauge.report.page.run_view import RunView

_DOTS = 300
"""Per trial: a picture in a text is small, and its file should be too."""
_COLUMNS = 3
_MOST = 9
_SINGLE = "single outputs"
_MEDIANS = {"event_latency": "event time", "processing_latency": "processing time"}
"""What is drawn instead where an engine reports both: the median of every second."""


def over_time(run: RunView) -> alt.TopLevelMixin:
    """Draw the latencies of the first trials in small multiples."""
    views = run.views[:_MOST]
    both = all(kind in view.charts for view in views for kind in _MEDIANS)
    drawn = _median_rows if both else _single_rows
    rows = [row for view in views for row in drawn(view)]
    if not rows:
        raise UsageError(f"{run.folder.name} has no latencies", "name another run with RUN=…")
    what = "median latency of every second" if both else f"latency of {_SINGLE}"
    title = f"{run.record.spec.subject}: {what}"
    subtitle = "over the time at which their latest input was due; warm-up before 0 s"
    series = [*_MEDIANS.values()] if both else [_SINGLE]
    return small_multiples(_COLUMNS, title, subtitle, rows, series)


def _median_rows(view: TrialView) -> list[Json]:
    return [
        row
        for kind, series in _MEDIANS.items()
        for row in rows_of(view, view.charts[kind], "p50", series)
    ]


def _single_rows(view: TrialView) -> list[Json]:
    return rows_of(view, view.charts.get("singles"), "latency", _SINGLE)


def rows_of(view: TrialView, columns: Json, name: str, series: str) -> list[Json]:
    """Return some dots of a series for Vega-Lite."""
    if not isinstance(columns, dict):
        return []
    times, values = columns["t"], columns[name]
    assert isinstance(times, list)
    assert isinstance(values, list)
    mode = f", {view.result.spec.mode}" if view.result.spec.mode else ""
    trial = f"{label(view.result)}{mode}"
    some = slice(None, None, max(1, round(len(times) / _DOTS)))
    dots = zip(times[some], values[some], strict=True)
    return [{"x": x, "v": v, "trial": trial, "s": series} for x, v in dots]
