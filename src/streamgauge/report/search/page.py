"""The part of a report that shows a search: its rates, latencies and trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from streamgauge.experiments.conclusions import in_growth
from streamgauge.experiments.search_answer import SearchAnswer
from streamgauge.report.charts.style import QUIET
from streamgauge.report.charts.theme import fitted, spec_of, themed
from streamgauge.report.page.figure import figure
from streamgauge.report.page.legend import line_key, sign, sign_key
from streamgauge.report.page.markup import data, join, number, table, tag
from streamgauge.report.page.run_view import RunView
from streamgauge.report.page.trial_table import latency_cell, link_to_charts
from streamgauge.report.search.charts import (
    CEILING_DASH,
    HELD,
    OVER,
    SIGN_OF,
    Point,
    latency_chart,
    rates_chart,
)
from streamgauge.report.search.trials import ShownTrial, brackets, shown_trials
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_duration, format_rate

_HEIGHT = 270
_RATES = (
    "The rates in the order in which they were tried, on a logarithmic axis. The shaded area"
    " lies between the highest rate that held and the lowest that did not."
)
_GUESS = " The guess is the rate at which it caught up with its backlog."
_LATENCY = "p95 of the {} at each rate, both axes logarithmic."


@dataclass(frozen=True)
class SearchView:
    """One search as the page shows it."""

    name: str
    """Its place in the page."""
    run: RunView
    search: SearchAnswer
    trials: Sequence[ShownTrial]

    @property
    def ceiling(self) -> float | None:
        """The rate that `noop` kept up with on this machine, if it was measured."""
        return self.run.record.ceiling(self.search.query)

    @property
    def kind_of_latency(self) -> str:
        """What the latencies are called."""
        has_event_time = {
            "event_latency.p50" in result.metrics
            for trial in self.trials
            if (result := self.result(trial)) and "latency.p50" in result.metrics
        }
        if False not in has_event_time:
            return "event-time latency"
        return "event-time latency, or otherwise latency," if True in has_event_time else "latency"

    def points(self) -> list[Point]:
        """Return the trials for the chart of rates; the last guess is in it if it caught up."""
        made = []
        for trial in self.trials:
            rate = self.search.catch_up if trial.kind == "guess" else trial.rate
            if rate is not None and not (trial.kind == "guess" and trial.was_repeated):
                made.append(Point(trial.number, rate, trial.kind, self._says(trial)))
        return made

    def latencies(self) -> list[Point]:
        """Return the trials that have a latency; the age of a backlog is not one."""
        made = []
        for trial in self.trials:
            p95_s = _latency_s(self.result(trial), "p95")
            if p95_s is not None and trial.kind != "guess":
                says = self._says(trial)
                made.append(Point(trial.number, trial.rate, trial.kind, says, 1000 * p95_s))
        return made

    def result(self, trial: ShownTrial) -> TrialResult | None:
        """Return all that is known of a trial."""
        return next((each for each in self.run.results if each.spec.number == trial.number), None)

    def _says(self, trial: ShownTrial) -> str:
        """Describe a trial and its outcome, in one line each."""
        if trial.kind == "guess":
            return f"#{trial.number} {trial.role}\n{trial.reason}"
        p95_s = _latency_s(self.result(trial), "p95")
        lines = [
            f"#{trial.number} {format_rate(trial.rate)}, {trial.role}: {trial.kind}",
            trial.reason,
        ]
        return "\n".join(lines if p95_s is None else [*lines, f"p95 {format_duration(p95_s)}"])


def search_views(run: RunView, found: Sequence[SearchAnswer]) -> list[SearchView]:
    """Return the searches of a run with their places in the page."""
    return [
        SearchView(f"{run.name}-search-{place}", run, search, shown_trials(search))
        for place, search in enumerate(found)
    ]


def search_sections(views: Sequence[SearchView]) -> Markup:
    """Show how each search closed in on the rate, and all of its trials."""
    return join(_section(view) for view in views)


def search_data(views: Sequence[SearchView]) -> Iterator[Markup]:
    """Yield the charts of all searches of a run."""
    for view in views:
        if points := view.points():
            trials = [trial.number for trial in view.trials]
            ends = brackets(view.search)
            chart = rates_chart(trials, points, ends, view.ceiling)
            yield data(f"{view.name}-rates", spec_of(themed(fitted(chart, _HEIGHT))))
        if latencies := view.latencies():
            chart = latency_chart(latencies, view.search.rate)
            yield data(f"{view.name}-latency", spec_of(themed(fitted(chart, _HEIGHT))))


def _section(view: SearchView) -> Markup:
    query, conclusion = view.search.query, view.search.conclusion
    sentence, known = in_growth(view.search.by_growth), any(view.search.by_growth)
    return tag(
        "section",
        tag("h2", f"Search: {query}"),
        tag("p", f"{conclusion[:1].upper()}{conclusion[1:]}."),
        tag("p", f"{sentence[:1].upper()}{sentence[1:]}.", class_="aside") if known else Markup(),
        tag("div", *_figures(view), class_="search-charts"),
        _table(view) if view.trials else Markup(),
        class_="search",
    )


def _figures(view: SearchView) -> Iterator[Markup]:
    if points := view.points():
        guessed = any(point.kind == "guess" for point in points)
        note = tag("p", _RATES + (_GUESS if guessed else ""), class_="aside")
        legend = [*_kinds(points), *_lines(view)]
        yield figure("Rates by trial", note, *legend, data_spec=f"{view.name}-rates")
    if latencies := view.latencies():
        note = tag("p", _LATENCY.format(view.kind_of_latency), class_="aside")
        legend = [*_kinds(latencies), *_found_line(view)]
        yield figure("Latency by rate", note, *legend, data_spec=f"{view.name}-latency")


def _kinds(points: Sequence[Point]) -> Iterator[Markup]:
    there = {point.kind for point in points}
    for kind, drawn in SIGN_OF.items():
        if kind in there:
            yield sign_key(drawn.colour, drawn.path, kind)


def _lines(view: SearchView) -> Iterator[Markup]:
    low, high = view.search.interval
    if low is not None:
        yield line_key(HELD, f"highest that held: {format_rate(low)}")
    if high is not None:
        what = "limit of the harness" if view.search.limit == "harness" else "lowest that did not"
        yield line_key(OVER, f"{what}: {format_rate(high)}")
    if view.ceiling is not None:
        text = f"harness ceiling (noop): {format_rate(view.ceiling)}"
        yield line_key(QUIET, text, CEILING_DASH)


def _found_line(view: SearchView) -> Iterator[Markup]:
    if (rate := view.search.rate) is not None:
        yield line_key(HELD, f"found: {format_rate(rate)}")


def _table(view: SearchView) -> Markup:
    header = ["#", "rate", "purpose", "verdict", "p50", "p95", "p99", "reason"]
    caption = f"Trials of the search; {view.kind_of_latency} in the measured span"
    return table(
        header, [[*_row(view, trial)] for trial in view.trials], caption=caption, class_="tried"
    )


def _row(view: SearchView, trial: ShownTrial) -> Iterator[str]:
    result = view.result(trial)
    shape = result.spec.shape if result else None
    yield number(str(trial.number), trial.number)
    yield number(format_rate(trial.rate), trial.rate)
    what = trial.role if shape is None else f"{trial.role}, {shape}"
    yield link_to_charts(view.run, trial.number, what)
    drawn = SIGN_OF[trial.kind]
    yield tag(
        "td", sign(drawn.colour, drawn.path), " ", "–" if trial.kind == "guess" else trial.kind
    )
    for statistic in ("p50", "p95", "p99"):
        yield latency_cell(None if trial.kind == "guess" else _latency_s(result, statistic))
    yield trial.reason


def _latency_s(result: TrialResult | None, statistic: str) -> float | None:
    """Return the event-time latency, or the latency of a trial without one."""
    found = result.metrics if result else {}
    return found.get(f"event_latency.{statistic}", found.get(f"latency.{statistic}"))
