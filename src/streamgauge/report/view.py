"""How a run of an experiment is shown: all that differs between experiments.

A view is registered under the name of its experiment, in the entry points `streamgauge.views`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from markupsafe import Markup
from pydantic import BaseModel
from rich.console import RenderableType
from rich.text import Text

from streamgauge import registry
from streamgauge.report import verdict
from streamgauge.report.page.markup import join, tag
from streamgauge.report.page.trial_table import trials_table
from streamgauge.report.terminal.remarks import remarks
from streamgauge.report.terminal.trials import render_trials
from streamgauge.results.answers import read_answer
from streamgauge.results.folder import RunFolder, RunRecord
from streamgauge.spec.trial import TrialResult

if TYPE_CHECKING:
    import altair as alt

    from streamgauge.report.page.run_view import RunView


@dataclass(frozen=True)
class Stamp:
    """What a rough run must not be taken for, in the words of each place."""

    headline: str
    sentence: str
    warning: str


_QUICK = Stamp(
    "quick: not a measurement",
    "A quick run, not a measurement.",
    "Quick: smallest sizes, too short to measure anything.",
)
SURVEY = Stamp(
    "survey: a rough answer", "A survey, a rough answer.", "Survey: short trials, a rough answer."
)


class View:
    """A run as independent trials, each with its verdicts; others override what differs."""

    def __init__(
        self, folder: RunFolder, record: RunRecord, results: Sequence[TrialResult]
    ) -> None:
        self.folder = folder
        self.record = record
        self.results = results

    @cached_property
    def answer(self) -> BaseModel | None:
        """What the experiment concluded; None while it has not."""
        return read_answer(self.record)

    def stamps(self) -> list[Stamp]:
        """Say what the run must not be taken for."""
        return [_QUICK] if self.record.spec.quick else []

    def ceiling(self) -> float | None:
        """Return the harness's ceiling for the headline: the lowest, if all queries have one."""
        known = [self.record.ceiling(query) for query in self.record.spec.queries]
        rates = [rate for rate in known if rate is not None]
        return min(rates, default=None) if all(known) else None

    def terminal(self) -> Iterator[RenderableType]:
        """Show results and what is wrong with them, below the headline."""
        yield from render_trials(self.results)
        yield from remarks(self.results, self.record.spec.objectives)

    def profiled(self) -> Sequence[TrialResult]:
        """Return the trials whose profiles the terminal shows one by one."""
        return self.results

    def sentence(self) -> str:
        """Say what came out, in one sentence."""
        found = verdict.of_trials(self.record, self.results)
        return " ".join([*(stamp.sentence for stamp in self.stamps()), found])

    def badges(self) -> list[verdict.Badge]:
        """Return a badge for each verdict, over all trials."""
        return verdict.badges_of_trials(self.record, self.results)

    def doubts(self) -> list[str]:
        """Return why verdicts do not hold, where that must be known."""
        return verdict.doubts(self.results, self.record.spec.objectives)

    def featured(self) -> set[int]:
        """Return the numbers of the trials that get charts before the others, if any."""
        return set()

    def numbers_trials(self) -> bool:
        """Return whether a trial is chosen by its number, since many look alike."""
        return False

    def trials(self, run: RunView) -> Markup:
        """Make the table at the beginning of the page."""
        return trials_table(run, self.results, "latency", "Trials; latency in the measured span")

    def findings(self, run: RunView) -> Markup:  # noqa: ARG002  # for those that override it
        """Make sections of its own, before the charts of trials."""
        return Markup()

    def details(self, run: RunView) -> Markup:  # noqa: ARG002
        """Make sections of its own, after the charts of trials."""
        return Markup()

    def data(self, run: RunView) -> Iterator[Markup]:  # noqa: ARG002
        """Yield what the script draws in those sections."""
        yield from ()

    def picture(self, run: RunView) -> alt.TopLevelMixin:
        """Draw the run for a page of text."""
        from streamgauge.report.charts.small_multiples import over_time

        return over_time(run)


class AnswerView(View):
    """The trials and the plain answer, for experiments that have no view of their own."""

    def terminal(self) -> Iterator[RenderableType]:
        """Show the trials, then the answer."""
        yield from super().terminal()
        yield from (Text(f"  {name}: {value}") for name, value in self._lines())

    def findings(self, run: RunView) -> Markup:  # noqa: ARG002
        """Show the answer."""
        pairs = [join([tag("dt", name), tag("dd", value)]) for name, value in self._lines()]
        return tag("section", tag("h2", "Answer"), tag("dl", *pairs)) if pairs else Markup()

    def _lines(self) -> Iterator[tuple[str, str]]:
        for name, value in self.record.answer.items():
            plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield name, plain


def view_of(folder: RunFolder, record: RunRecord, results: Sequence[TrialResult]) -> View:
    """Return a run's view: that of its experiment, or the plain one."""
    name = record.spec.experiment
    known = name in registry.names("views")
    view = registry.load("views", name) if known else AnswerView
    return view(folder, record, results)
