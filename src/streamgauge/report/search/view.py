"""How a run of searches is shown: by what each found, and the trials that this rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from markupsafe import Markup
from rich.console import RenderableType

from streamgauge.experiments.search_answer import SearchAnswer, Searches, SearchParameters
from streamgauge.report import verdict
from streamgauge.report.page.trial_table import trials_table
from streamgauge.report.search import terminal
from streamgauge.report.search.page import search_data, search_sections, search_views
from streamgauge.report.search.picture import searches_picture
from streamgauge.report.search.trials import carrying, latency_trials
from streamgauge.report.view import SURVEY, Stamp, View
from streamgauge.spec.trial import TrialResult

if TYPE_CHECKING:
    import altair as alt

    from streamgauge.report.page.run_view import RunView

_CAPTION = "The rate that was found, and what followed; event-time latency in the measured span"


class SearchesView(View):
    """A run of searches; it is shown as its trials until it has an answer."""

    @cached_property
    def searches(self) -> Sequence[SearchAnswer]:
        """Return what was concluded about each query."""
        return self.answer.searches if isinstance(self.answer, Searches) else ()

    def stamps(self) -> list[Stamp]:
        """Mark a survey."""
        asked = SearchParameters.model_validate(self.record.spec.experiment_options)
        return [*super().stamps(), *([SURVEY] if asked.survey else [])]

    def ceiling(self) -> float | None:
        """Leave the ceiling to each search."""
        return None if self.searches else super().ceiling()

    def terminal(self) -> Iterator[RenderableType]:
        """Show the trials of each search, its answer, and the latencies there."""
        if not self.searches:
            yield from super().terminal()
        for search in self.searches:
            yield from terminal.render(search, self.record.ceiling(search.query))
            yield from terminal.render_latencies(search, self.results)

    def sentence(self) -> str:
        """Say what the searches found, in one line each."""
        if not self.searches:
            return super().sentence()
        found = (f"{search.query}: {search.conclusion}." for search in self.searches)
        return "\n".join([*(stamp.sentence for stamp in self.stamps()), *found])

    def badges(self) -> list[verdict.Badge]:
        """Return how each search ended, and the verdicts of the trials that its answer rests on.

        A search overloads an engine on purpose, so not keeping up is not a verdict.
        """
        if not self.searches:
            return super().badges()
        verdicts = verdict.valid_and_correct(self._carrying())
        made = [verdict.badge(*each, none="no rate held", which="that count") for each in verdicts]
        ended = [verdict.Badge(each.query, *_outcome(each)) for each in self.searches]
        return [*ended, *made]

    def doubts(self) -> list[str]:
        """Return why verdicts do not hold, only for trials that an answer rests on."""
        if not self.searches:
            return super().doubts()
        objectives = self.record.spec.objectives
        return verdict.doubts(self._carrying(), objectives, overloaded=True)

    def featured(self) -> set[int]:
        """Return the trials that give the latency at the rates that were found, and after."""
        return {trial for search in self.searches for trial in latency_trials(search)}

    def numbers_trials(self) -> bool:
        """Let trials be chosen by the numbers that a search shows."""
        return bool(self.searches)

    def trials(self, run: RunView) -> Markup:
        """Show the trials that give the latency by which a search decides; it shows all itself."""
        if not self.searches:
            return super().trials(run)
        featured = self.featured()
        shown = [result for result in self.results if result.spec.number in featured]
        return trials_table(run, shown, "event_latency", _CAPTION)

    def findings(self, run: RunView) -> Markup:
        """Show how each search closed in on its rate."""
        return search_sections(search_views(run, self.searches))

    def data(self, run: RunView) -> Iterator[Markup]:
        """Yield the charts of the searches."""
        yield from search_data(search_views(run, self.searches))

    def picture(self, run: RunView) -> alt.TopLevelMixin:
        """Draw the rates and latencies of each search."""
        found = search_views(run, self.searches)
        return searches_picture(found) if found else super().picture(run)

    def _carrying(self) -> list[TrialResult]:
        numbers = {trial.number for search in self.searches for trial in carrying(search)}
        return [result for result in self.results if result.spec.number in numbers]


def _outcome(search: SearchAnswer) -> tuple[bool | None, str]:
    low, _ = search.interval
    if search.limit is None:
        return None, "the search is not over"
    if search.limit == "harness":
        return None, "the harness was the limit"
    if search.rate is None:
        return False, "no rate passes" if low is None else "not settled"
    found = "found and confirmed" if search.limit == "engine" else "confirmed as far as was tried"
    return True, found
