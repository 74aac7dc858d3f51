"""Demand or capacity as several runs found them, in one chart: engines, modes, methods, cuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from streamgauge.errors import UsageError
from streamgauge.experiments.scalability.answer import Cost, Scaling, Search
from streamgauge.experiments.scalability.grid import Metric
from streamgauge.files import write_for_user
from streamgauge.report.charts.theme import themed
from streamgauge.report.page.figure import chart_figure
from streamgauge.report.page.markup import number, table, tag
from streamgauge.report.page.shell import chart_library, make_page
from streamgauge.report.scaling.curves import Curve, curves_chart
from streamgauge.results.answers import read_answer
from streamgauge.results.folder import RunFolder

OVER: Mapping[str, Metric] = {"load": "demand", "resources": "capacity"}
"""The metric that is shown over each."""
_NOTE = {
    "demand": "The least resources with which each load passed; dotted: as if each load took the"
    " same.",
    "capacity": "The greatest load that passed; dotted: as if each size added the same.",
}


@dataclass(frozen=True)
class _Told:
    """A search with the name that distinguishes it from the others."""

    name: str
    answer: Scaling
    search: Search


def write_curves(folders: Sequence[RunFolder], over: str, path: Path) -> None:
    """Write a page that shows what several searches found.

    Args:
        folders: The runs.
        over: `load` or `resources`.
        path: File of the page.
    """
    searches = [*_told(folders, OVER[over])]
    factors = {(each.answer.load, each.answer.resources) for each in searches}
    title = f"{OVER[over].capitalize()} over {over}"
    body: list[Markup] = [tag("h1", title)]
    charts: list[Markup] = []
    for load, resources in sorted(factors):
        alike = [
            each
            for each in searches
            if (each.answer.load, each.answer.resources) == (load, resources)
        ]
        chart = themed(
            curves_chart([_curve(each) for each in alike]).properties(width="container", height=320)
        )
        asked = load if over == "load" else resources
        shown, drawn = chart_figure(
            f"curves-{asked}-{len(charts)}", chart, f"{title}: {asked}", _NOTE[OVER[over]]
        )
        charts.append(drawn)
        body.append(shown)
    body += [_table(searches), _equal_cores(searches)]
    write_for_user(path, make_page(title, body, charts, chart_library()))


def _told(folders: Sequence[RunFolder], metric: Metric) -> Iterator[_Told]:
    """Yield the searches for that metric that found anything."""
    found = [(folder, read_answer(folder.record())) for folder in folders]
    scaling = [(f, a) for f, a in found if isinstance(a, Scaling) and a.metric == metric]
    if not scaling:
        raise UsageError(
            f"none of these runs is a search for {metric}",
            f"Name runs of -x scalability -X metric={metric}.",
        )
    names = _names([folder for folder, _ in scaling])
    for (_, answer), name in zip(scaling, names, strict=True):
        for search in answer.searches:
            yield _Told(f"{search.query}{name}", answer, search)


def _names(folders: Sequence[RunFolder]) -> list[str]:
    """Name runs by the settings in which they differ, and by their ids if that is not enough."""
    specs = [folder.record().spec for folder in folders]
    settings = [
        {
            "engine": spec.engine or "none",
            **spec.engine_options,
            **{name: str(value) for name, value in spec.parameters.items()},
            "cores each": str(spec.resources.instance_cores),
            "partitions": str(spec.partitions),
        }
        for spec in specs
    ]
    names = dict.fromkeys(name for each in settings for name in each)
    differ = [name for name in names if len({each.get(name) for each in settings}) > 1]
    texts = [
        "".join(f", {name}={each[name]}" for name in differ if name in each) for each in settings
    ]
    if len(set(texts)) == len(texts):
        return texts
    return [f"{text}, {folder.name}" for text, folder in zip(texts, folders, strict=True)]


def _curve(told: _Told) -> Curve:
    return Curve.of(told.name, told.answer, told.search)


def _table(told: Sequence[_Told]) -> Markup:
    rows = [
        [each.name, point.at, point.found or "–", point.limit or "not known yet"]
        for each in told
        for point in each.search.points
    ]
    return table(("what", "at", "found", "limited by"), rows, caption="All that was found")


def _equal_cores(told: Sequence[_Told]) -> Markup:
    """Compare the loads that the same number of cores carries, however they are divided."""
    rows = [
        [each.name, number(f"{cost.cores:g}", cost.cores), cost.load, cost.resources]
        for each in told
        for cost in sorted(each.search.costs, key=_cores)
    ]
    header = ("what", "cores in all", "load", "resources")
    return table(header, rows, caption="What carries each load, by cores in all")


def _cores(cost: Cost) -> float:
    return cost.cores
