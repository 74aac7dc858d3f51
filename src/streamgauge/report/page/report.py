"""report.html: a run, or several, as one page to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from markupsafe import Markup

from streamgauge.files import write_for_user
from streamgauge.report.page import sections, trial_charts
from streamgauge.report.page.markup import tag
from streamgauge.report.page.run_view import RunView, view_runs
from streamgauge.report.page.shell import chart_library, make_page
from streamgauge.results.folder import RunFolder


def write_report(folder: RunFolder) -> Path:
    """Write report.html into a run's folder and return where it is."""
    file = folder.path / "report.html"
    write_page([folder], file)
    return file


def write_page(folders: Sequence[RunFolder], file: Path) -> None:
    """Write a page of one or several runs."""
    write_for_user(file, report_page(folders))


def report_page(folders: Sequence[RunFolder]) -> str:
    """Return the page of one or several runs."""
    with ThreadPoolExecutor(1) as meanwhile:
        library = meanwhile.submit(chart_library)
        runs = view_runs(folders)
        body = [_article(run) for run in runs]
        data = [trial_charts.common_data(), *(block for run in runs for block in _data(run))]
    title = ", ".join(run.record.id for run in runs)
    return make_page(title, body, data, library.result())


def _article(run: RunView) -> Markup:
    return tag(
        "article",
        sections.verdict(run),
        sections.set_up(run),
        run.of_experiment.findings(run),
        trial_charts.charts(run),
        run.of_experiment.details(run),
        sections.correctness(run),
        sections.definitions(run),
        class_="run",
        id=run.name,
    )


def _data(run: RunView) -> Iterator[Markup]:
    yield from run.of_experiment.data(run)
    yield from trial_charts.run_data(run)
