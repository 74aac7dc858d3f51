"""A run as a page shows it: its record, its trials, and the charts of the first of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from streamgauge.report.charts.data.trial import TrialView, view_trial
from streamgauge.report.view import View, view_of
from streamgauge.results.folder import RunFolder, RunRecord
from streamgauge.spec.trial import TrialResult

MOST_CHARTED = 30
"""Trials of a page that get charts; more would make it slow to open."""
MOST_SINGLES = 2000
_SINGLES_OF_PAGE = 30_000
MOST_MARKS = 5000
_MARKS_OF_PAGE = 50_000


@dataclass(frozen=True)
class RunView:
    """One run of a page."""

    name: str
    """Its place in the page, by which script and links find it."""
    folder: RunFolder
    record: RunRecord
    results: Sequence[TrialResult]
    views: Sequence[TrialView]
    """The trials that have charts."""
    of_experiment: View
    """How a run of its experiment is shown."""

    @property
    def uncharted(self) -> int:
        """How many trials have no charts, because there are too many."""
        return len(self.results) - len(self.views)


def view_runs(folders: Sequence[RunFolder]) -> list[RunView]:
    """Read runs for one page; the room for charts is shared by all of them."""
    most = max(1, MOST_CHARTED // max(1, len(folders)))
    return [_view(folder, f"run-{place}", most) for place, folder in enumerate(folders)]


def _view(folder: RunFolder, name: str, most_charted: int) -> RunView:
    record, results = folder.record(), folder.trials()
    shown = view_of(folder, record, results)
    charted = _charted(shown.featured(), results, most_charted)
    singles = min(MOST_SINGLES, _SINGLES_OF_PAGE // max(1, len(charted)))
    marks = min(MOST_MARKS, _MARKS_OF_PAGE // max(1, len(charted)))
    views = [view_trial(folder, result, singles, marks) for result in charted]
    return RunView(name, folder, record, results, views, shown)


def _charted(
    featured: Collection[int], results: Sequence[TrialResult], most: int
) -> Sequence[TrialResult]:
    """Choose the featured trials, then the first of the others."""
    chosen = sorted(results, key=lambda result: result.spec.number not in featured)[:most]
    return [result for result in results if result in chosen]
