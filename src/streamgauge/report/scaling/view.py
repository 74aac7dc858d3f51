"""How a run of the search for demand or capacity is shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from markupsafe import Markup
from rich.console import RenderableType

from streamgauge.experiments.scalability.answer import ScalabilityParameters, Scaling, Search
from streamgauge.report import verdict
from streamgauge.report.page.trial_table import trials_table
from streamgauge.report.scaling import terminal
from streamgauge.report.scaling.curves import Curve, curves_chart
from streamgauge.report.scaling.page import scaling_data, scaling_sections
from streamgauge.report.view import SURVEY, Stamp, View
from streamgauge.spec.trial import TrialResult

if TYPE_CHECKING:
    import altair as alt

    from streamgauge.report.page.run_view import RunView

_CAPTION = "Trials that the answers rest on; latency in the measured span"
_WIDTH, _HEIGHT = 460, 300


class ScalabilityView(View):
    """A run of such searches; it is shown as its trials until it has an answer."""

    @cached_property
    def scaling(self) -> Scaling | None:
        """Return what was concluded."""
        return self.answer if isinstance(self.answer, Scaling) else None

    def stamps(self) -> list[Stamp]:
        """Mark a survey."""
        asked = ScalabilityParameters.model_validate(self.record.spec.experiment_options)
        return [*super().stamps(), *([SURVEY] if asked.survey else [])]

    def terminal(self) -> Iterator[RenderableType]:
        """Show the grid of each search, its answer, and what to doubt."""
        if self.scaling is None:
            yield from super().terminal()
            return
        for search in self.scaling.searches:
            yield from terminal.render(self.scaling, search, self.record.ceiling(search.query))

    def sentence(self) -> str:
        """Say what the searches found, in one line each."""
        if self.scaling is None:
            return super().sentence()
        found = (f"{search.query}: {search.conclusion}." for search in self.scaling.searches)
        return "\n".join([*(stamp.sentence for stamp in self.stamps()), *found])

    def badges(self) -> list[verdict.Badge]:
        """Return how each search ended, and the verdicts of the trials that its answer rests on."""
        if self.scaling is None:
            return super().badges()
        verdicts = verdict.valid_and_correct(self._carrying())
        made = [verdict.badge(*each, none="nothing held", which="that count") for each in verdicts]
        ended = [verdict.Badge(each.query, *_outcome(each)) for each in self.scaling.searches]
        return [*ended, *made]

    def doubts(self) -> list[str]:
        """Return why verdicts do not hold, only for trials that an answer rests on."""
        if self.scaling is None:
            return super().doubts()
        about_trials = verdict.doubts(self._carrying(), (), overloaded=True)
        found = (each.contradictions for each in self.scaling.searches)
        return [*about_trials, *(text for several in found for text in several)]

    def featured(self) -> set[int]:
        """Return the trials that the answers rest on."""
        return {result.spec.number for result in self._carrying()}

    def numbers_trials(self) -> bool:
        """Let trials be chosen by their numbers."""
        return self.scaling is not None

    def trials(self, run: RunView) -> Markup:
        """Show the trials that the answers rest on; the search itself shows all."""
        if self.scaling is None:
            return super().trials(run)
        return trials_table(run, self._carrying(), "latency", _CAPTION)

    def findings(self, run: RunView) -> Markup:
        """Show what each search found."""
        return Markup() if self.scaling is None else scaling_sections(run, self.scaling)

    def data(self, run: RunView) -> Iterator[Markup]:
        """Yield the charts of the searches."""
        if self.scaling is not None:
            yield from scaling_data(run, self.scaling)

    def picture(self, run: RunView) -> alt.TopLevelMixin:
        """Draw the curves of all searches."""
        if self.scaling is None or not any(each.costs for each in self.scaling.searches):
            return super().picture(run)
        return curves_picture(self.record.spec.subject, self.scaling)

    def _carrying(self) -> list[TrialResult]:
        """Return the trials of each cell that passed and is an answer."""
        if self.scaling is None:
            return []
        numbers = {
            number
            for search in self.scaling.searches
            for cost in search.costs
            for each in search.tried
            if (each.load, each.resources) == (cost.load, cost.resources)
            for number in each.trials
        }
        return [result for result in self.results if result.spec.number in numbers]


def curves_picture(title: str, answer: Scaling) -> alt.TopLevelMixin:
    """Draw the curves of all searches of a run as a picture for a page of text."""
    from streamgauge.report.charts.theme import themed

    curves = [Curve.of(each.query, answer, each) for each in answer.searches if each.costs]
    chart = curves_chart(curves).properties(
        title=f"{title}: {answer.metric}", width=_WIDTH, height=_HEIGHT
    )
    return themed(chart, [curve.name for curve in curves], picture=True)


def _outcome(search: Search) -> tuple[bool | None, str]:
    limits = {point.limit for point in search.points}
    if None in limits:
        return None, "the search is not over"
    if not any(point.found is not None for point in search.points):
        harness = "harness" in limits
        return None if harness else False, "the harness was the limit" if harness else "none passes"
    return True, "found" if limits == {"engine"} else "found as far as was tried"
