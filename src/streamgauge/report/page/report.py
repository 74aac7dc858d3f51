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
from streamgauge.report.profile import page as profile
from streamgauge.report.profile.page import run_profiles
from streamgauge.report.profile.profiled import Profiled
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
        found = [(run, run_profiles(run.folder, run.results)) for run in runs]
        body = [_article(run, profiles) for run, profiles in found]
        data = [trial_charts.common_data(), *(part for each in found for part in _data(*each))]
        script = profile.script([each for _, profiles in found for each in profiles])
    title = ", ".join(run.record.id for run in runs)
    return make_page(title, body, data, library.result(), script)


def _article(run: RunView, profiles: Sequence[Profiled]) -> Markup:
    return tag(
        "article",
        sections.verdict(run),
        sections.set_up(run),
        run.of_experiment.findings(run),
        trial_charts.charts(run),
        profile.section(profiles, run.name),
        run.of_experiment.details(run),
        sections.correctness(run),
        sections.definitions(run),
        class_="run",
        id=run.name,
    )


def _data(run: RunView, profiles: Sequence[Profiled]) -> Iterator[Markup]:
    yield from run.of_experiment.data(run)
    yield from trial_charts.run_data(run)
    yield from profile.section_data(profiles, run.name)
