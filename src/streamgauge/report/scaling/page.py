"""The part of a report that shows a search over a grid: its curve, grid, lags and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from streamgauge.experiments.scalability.answer import Scaling, Search
from streamgauge.report.charts.style import PALETTE
from streamgauge.report.charts.theme import fitted, spec_of, themed
from streamgauge.report.page.figure import figure
from streamgauge.report.page.legend import line_key
from streamgauge.report.page.markup import data, join, table, tag
from streamgauge.report.page.run_view import RunView
from streamgauge.report.page.trial_table import link_to_charts
from streamgauge.report.scaling.curves import BEYOND_DASH, PROPORTIONAL_DASH, Curve, curves_chart
from streamgauge.report.scaling.terminal import cost_rows, remarks
from streamgauge.report.scaling.tried import grid_rows, lag_chart

_HEIGHT = 300
_CURVE = {
    "demand": "The least resources with which each load passed.",
    "capacity": "The greatest load that passed with each of the resources.",
}
_LAGS = "Records that the engine was behind, every 5 s of the measured time of each trial."
_COSTS = ("load", "resources", "cores", "CPU time per million records")


def scaling_sections(run: RunView, answer: Scaling) -> Markup:
    """Show each search of a run."""
    return join(_section(run, answer, each, name) for name, each in _named(run, answer))


def scaling_data(run: RunView, answer: Scaling) -> Iterator[Markup]:
    """Yield the charts of all searches of a run."""
    for name, search in _named(run, answer):
        curve = Curve.of(search.query, answer, search)
        if curve.rows():
            chart = themed(fitted(curves_chart([curve]), _HEIGHT))
            yield data(f"{name}-curve", spec_of(chart))
        if (lags := lag_chart(search, run.results)) is not None:
            yield data(f"{name}-lags", spec_of(themed(lags)))


def _named(run: RunView, answer: Scaling) -> list[tuple[str, Search]]:
    return [(f"{run.name}-scaling-{at}", each) for at, each in enumerate(answer.searches)]


def _section(run: RunView, answer: Scaling, search: Search, name: str) -> Markup:
    notes = [tag("p", f"{line[:1].upper()}{line[1:]}.", class_="aside") for line in remarks(search)]
    return tag(
        "section",
        tag("h2", f"{answer.metric.capitalize()}: {search.query}"),
        tag("p", f"{search.conclusion[:1].upper()}{search.conclusion[1:]}."),
        *notes,
        *_figures(run, answer, search, name),
        _grid(answer, search) if search.tried else Markup(),
        _trials(run, search) if search.tried else Markup(),
        _costs(search) if search.costs else Markup(),
        class_="search",
    )


def _figures(run: RunView, answer: Scaling, search: Search, name: str) -> Iterator[Markup]:
    curve = Curve.of(search.query, answer, search)
    if curve.rows():
        legend = [line_key(PALETTE[0], f"{answer.metric} found")]
        if curve.proportional():
            legend.append(line_key(PALETTE[0], "linear from the first", PROPORTIONAL_DASH))
        if search.explained is not None and search.explained.curve:
            legend.append(line_key(PALETTE[5], "model, 90 % interval"))
            legend.append(line_key(PALETTE[5], "predicted, not measured", BEYOND_DASH))
        note = tag("p", _CURVE[answer.metric], class_="aside")
        title = f"{answer.metric.capitalize()} over {curve.asked}"
        yield figure(title, note, *legend, data_spec=f"{name}-curve")
    if lag_chart(search, run.results) is not None:
        yield figure("Lag over time", tag("p", _LAGS, class_="aside"), data_spec=f"{name}-lags")


def _grid(answer: Scaling, search: Search) -> Markup:
    resources, rows = grid_rows(answer, search)
    header = [answer.load, *(f"{answer.resources} {size}" for size in resources)]
    caption = f"Verdict and slope of the lag; {', '.join(answer.objectives)}; · was not tried"
    return table(header, rows, caption=caption)


def _trials(run: RunView, search: Search) -> Markup:
    header = ["load", "resources", "verdict", "by our rule", "trials", "reason"]
    rows = [
        [
            each.load,
            each.resources,
            each.outcome,
            each.sustained,
            tag("td", *_links(run, each.trials)),
            each.reason,
        ]
        for each in search.tried
    ]
    return table(header, rows, caption="Each cell that was tried", class_="tried")


def _links(run: RunView, trials: Sequence[int]) -> Iterator[str]:
    for number in trials:
        yield link_to_charts(run, number, f"#{number}")
        yield " "


def _costs(search: Search) -> Markup:
    rows = [*cost_rows(search)]
    header = [*_COSTS, *(["cost per million", "cost per month"] if len(rows[0]) > 4 else [])]
    return table(header, rows, caption="What it takes to carry each load")
