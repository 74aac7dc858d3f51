"""The visual parts of a report: the choice of a trial, its charts, and their data.

The page's script draws; this module makes the frame of every chart, and its data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from streamgauge.report.charts.data.latencies import Histogram, nines, pooled
from streamgauge.report.charts.data.trial import TrialView, label
from streamgauge.report.charts.over_time import distribution_spec, time_spec
from streamgauge.report.charts.style import DASHES, FLOOR_MS, PALETTE
from streamgauge.report.charts.ticks import FEWEST_TICKS, STEPS
from streamgauge.report.charts.time_charts import (
    MARKS_IN_SIGHT,
    TIME_CHARTS,
    Chart,
    Section,
    charts_of,
)
from streamgauge.report.page.figure import figure
from streamgauge.report.page.markup import data, tag
from streamgauge.report.page.run_view import RunView
from streamgauge.spec.values import Json
from streamgauge.units import format_rate

_HOW_TO_READ = (
    "Time is in seconds from the start of the measured span; the shaded parts lie outside it: the"
    " warm-up before, run-on and drain after. All charts over time move together. Drag to zoom,"
    " double-click to see all; with the keyboard: arrows, +, − and 0."
)
_DISTRIBUTION = (
    "The share of outputs on the axis took at most the time shown. Each further nine has the same"
    " room; a line ends where its sample does."
)


def charts(run: RunView) -> Markup:
    """Make the frames of all charts of a run."""
    if not run.views:
        return Markup()
    cut = f"The first {len(run.views)} trials have charts; {run.uncharted:,} more have none."
    return tag(
        "div",
        _picker(run),
        tag("p", cut, class_="aside") if run.uncharted else Markup(),
        tag("p", _HOW_TO_READ, class_="aside"),
        tag("p", "This trial left nothing to draw.", class_="none", hidden=True),
        tag("noscript", tag("p", "The charts need JavaScript; text and tables do not.")),
        _section("Rates and lag", "rates"),
        _section("Latency over time", "latency"),
        tag("section", tag("h2", "Latency distribution"), _distribution_figure(run.views)),
        _section("Resources", "resources"),
        class_="charts",
        data_run=run.name,
    )


def common_data() -> Markup:
    """Return what all charts of a page share: how they are drawn."""
    drawn: dict[str, Json] = {chart.name: _how(chart) for chart in TIME_CHARTS}
    dashes: list[Json] = [list(dash) for dash in DASHES]
    steps: list[Json] = [list(each) for each in STEPS]
    return data(
        "page",
        {
            "charts": drawn,
            "distribution": distribution_spec(),
            "colours": list(PALETTE),
            "dashes": dashes,
            "steps": steps,
            "fewest": FEWEST_TICKS,
            "floor": FLOOR_MS,
            "marks": MARKS_IN_SIGHT,
        },
    )


def run_data(run: RunView) -> Iterator[Markup]:
    """Yield what the script draws: the run's distribution, then a block for each trial."""
    yield data(f"{run.name}-distribution", distribution_lines(run.views))
    cores = run.record.machine.get("cores")
    for view in run.views:
        name = f"{run.name}-trial-{view.result.spec.number}"
        yield data(name, view.data(float(cores) if isinstance(cores, int) else None))


def distribution_lines(views: Sequence[TrialView]) -> Json:
    """Return a line per trial, and for a repeated trial a bold one of all its repeats."""
    groups: dict[str, list[Histogram]] = {}
    for view in views:
        if view.histogram is not None and view.histogram.total:
            spec = view.result.spec
            group = f"{spec.query} at {format_rate(spec.rate)}"
            groups.setdefault(group, []).append(view.histogram)
    lines: list[Json] = []
    for place, (group, histograms) in enumerate(groups.items()):
        singles = histograms if len(histograms) > 1 else []
        lines += [_line(group, place, histogram, bold=False) for histogram in singles]
        lines.append(_line(group, place, pooled(histograms), bold=True))
    return lines


def _line(group: str, place: int, histogram: Histogram, *, bold: bool) -> Json:
    at, took = nines(histogram)
    return {"name": group, "place": place, "bold": bold, "t": [*at], "v": [*took]}


def _how(chart: Chart) -> Json:
    return {
        "spec": time_spec(chart),
        "unit": chart.unit,
        "shape": chart.shape,
        "colours": [PALETTE[place] for place in chart.colours],
        "dashed": chart.dashed,
    }


def _picker(run: RunView) -> Markup:
    """Make the row that stays in sight: which trial is shown, where the cursor is, the zoom."""
    buttons = [
        tag("button", text, type="button", data_zoom=act, title=title, aria_label=title)
        for text, act, title in (
            ("−", "out", "Zoom out"),
            ("+", "in", "Zoom in"),
            ("All", "all", "Show the whole trial"),
        )
    ]
    first = first_shown(run)
    choices = [_choice(run, view, view is first) for view in run.views]
    return tag(
        "nav",
        tag("fieldset", tag("legend", "Trial"), *choices),
        tag("output", class_="cursor"),
        tag("div", *buttons, class_="zoom"),
        class_="picker",
        id=f"{run.name}-charts",
        aria_label="Trial and zoom",
    )


def _choice(run: RunView, view: TrialView, chosen: bool) -> Markup:
    value = str(view.result.spec.number)
    button = tag("input", type="radio", name=f"{run.name}-trial", value=value, checked=chosen)
    place = f"#{value} " if run.of_experiment.numbers_trials() else ""
    return tag("label", button, tag("span", f"{place}{label(view.result)}"))


def first_shown(run: RunView) -> TrialView:
    """Choose the first trial that the run's view features, or the first with something to draw."""
    featured = run.of_experiment.featured()
    found = (view for view in run.views if view.result.spec.number in featured)
    drawn = (view for view in run.views if view.charts)
    return next(found, None) or next(drawn, run.views[0])


def _section(title: str, section: Section) -> Markup:
    frames = [_figure(chart) for chart in charts_of(section)]
    return tag("section", tag("h2", title), *frames, class_="pairs")


def _figure(chart: Chart) -> Markup:
    return figure(
        chart.title,
        tag("p", chart.note, " ", tag("span", class_="said"), class_="aside"),
        data_chart=chart.name,
        class_="wide" if chart.wide else None,
    )


def _distribution_figure(views: Sequence[TrialView]) -> Markup:
    tried = [(view.result.spec.query, view.result.spec.rate) for view in views]
    several = len(set(tried)) < len(tried)
    bold = " Thin: one trial; bold: all its repeats together." if several else ""
    note = tag("p", f"{_DISTRIBUTION}{bold}", class_="aside")
    return figure("Percentiles of latency", note, class_="distribution")
