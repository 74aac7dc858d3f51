"""A picture of a run for a page of text: `python -m streamgauge.report.picture RUN FILE.svg`.

Names of charts may follow: then it shows those of one trial.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from streamgauge.errors import StreamgaugeError, UsageError, unknown_name
from streamgauge.files import write_atomically
from streamgauge.report import vega
from streamgauge.report.charts import TIME_CHARTS
from streamgauge.report.figures import first_shown
from streamgauge.report.run import RunView, view_runs
from streamgauge.report.search_charts import ladder_spec, latency_spec
from streamgauge.report.search_section import SearchView, search_views
from streamgauge.report.searches import brackets
from streamgauge.report.trial import TrialView, label
from streamgauge.results.folder import RunFolder, find
from streamgauge.spec.values import Json

RUNS = Path("runs")
_DOTS = 300
"""Of a trial: a picture in a text is small, and so should its file be."""
_COLUMNS = 3
_MOST = 9
_WIDTH = 360
_SINGLE = "single outputs"
_MEDIANS = {"event_latency": "event time", "processing_latency": "processing time"}
"""What is drawn instead where an engine tells both: the median of every second."""


def draw(folder: RunFolder, charts: Sequence[str] = ()) -> str:
    """Return a search as a ladder, or the latencies of the first trials over time, as SVG.

    Args:
        folder: The run.
        charts: Names of charts that are drawn instead, of one trial: of a search, where it ended.
    """
    from vl_convert import vegalite_to_svg  # slow to load, and only needed here

    (run,) = view_runs([folder])
    if charts:
        return vegalite_to_svg(_of_one_trial(run, charts))
    found = search_views(run)
    return vegalite_to_svg(_ladders(found) if found else _over_time(run))


def _ladders(views: Sequence[SearchView]) -> vega.Spec:
    """Draw each search in a row: rates in the order of the trials, then latency over rate."""
    rows: list[Json] = []
    for view in views:
        trials = [rung.trial for rung in view.rungs]
        ladder = ladder_spec(trials, view.points(), brackets(view.search), view.ceiling)
        latency = latency_spec(view.latencies(), view.search["rate"])
        titles = (
            f"{view.search['query']}: rate, trial by trial",
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


def _of_one_trial(run: RunView, names: Sequence[str]) -> vega.Spec:
    """Draw charts of the trial that the page shows first, two in a row."""
    known = {chart.name: chart for chart in TIME_CHARTS}
    if unknown := [name for name in names if name not in known]:
        raise unknown_name("chart", unknown[0], known)
    if not run.views:
        raise UsageError(f"{run.folder.name} has no trials", "name another run with RUN=…")
    view = first_shown(run)
    panels: list[Json] = []
    for name in names:
        columns = view.charts.get(name)
        if not isinstance(columns, dict):
            raise UsageError(f"{label(view.result)} has no {name} to draw", "leave it out")
        series = [each for each in columns if each != "t"]
        rows = [row for each in series for row in _rows(view, columns, each, each)]
        panels.append(vega.panel(known[name], series, rows))
    return {
        "title": {"text": label(view.result), "anchor": "start", "offset": 12},
        "concat": panels,
        "columns": 2,
        "resolve": {"scale": {"color": "independent", "strokeDash": "independent"}},
        "config": vega.picture_config(legend=True),
    }


def _over_time(run: RunView) -> vega.Spec:
    views = run.views[:_MOST]
    both = all(kind in view.charts for view in views for kind in _MEDIANS)
    drawn = _median_rows if both else _single_rows
    rows = [row for view in views for row in drawn(view)]
    if not rows:
        raise UsageError(f"{run.folder.name} has no latencies", "name another run with RUN=…")
    what = "median latency of every second" if both else f"latency of {_SINGLE}"
    title = f"{run.record.spec.workload} on {run.record.spec.engine}: {what}"
    subtitle = "over the time at which their latest input was due; warm-up before 0 s"
    series = [*_MEDIANS.values()] if both else [_SINGLE]
    chart = vega.small_multiples(_COLUMNS, title, subtitle, series)
    return {**chart, "datasets": {"rows": rows}}


def _median_rows(view: TrialView) -> list[Json]:
    return [
        row
        for kind, series in _MEDIANS.items()
        for row in _rows(view, view.charts[kind], "p50", series)
    ]


def _single_rows(view: TrialView) -> list[Json]:
    return _rows(view, view.charts.get("singles"), "latency", _SINGLE)


def _rows(view: TrialView, columns: Json, name: str, series: str) -> list[Json]:
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


def main(arguments: list[str]) -> int:
    """Draw the run that is named first into the file that is named second."""
    name, file, *charts = arguments
    try:
        write_atomically(Path(file), draw(find(RUNS, name), charts))
    except StreamgaugeError as error:
        sys.stderr.write(f"error: {error.message}\n  {error.remedy or ''}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
