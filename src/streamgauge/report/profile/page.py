"""A profile on a page: a stacked bar, a table of tasks, a flame graph to explore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files

from markupsafe import Markup

from streamgauge.errors import UsageError
from streamgauge.profiling.task_file import DEFAULT, read_tasks
from streamgauge.profiling.tasks import assign
from streamgauge.report.charts.style import QUIET
from streamgauge.report.page.markup import data, join, number, table, tag
from streamgauge.report.page.shell import make_page, warning
from streamgauge.report.profile.flame_data import colours, flame_data
from streamgauge.report.profile.profiled import Profiled, profiled_trials
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult

MOST_DRAWN = 4
"""Profiles of a page that have a flame graph; each takes a few hundred kilobytes."""
_HOW_TO_READ = (
    "The kernel counts CPU time by thread; samples of stacks divide it among tasks. In the flame"
    " graph a box is as wide as the CPU time in it and in what it called; its caller is below it."
    " Click to zoom, Escape to go back."
)


def run_profiles(folder: RunFolder, results: Sequence[TrialResult]) -> list[Profiled]:
    """Return the profiles of a run that can be read."""
    try:
        return list(profiled_trials(folder, results, read_tasks(DEFAULT)))
    except UsageError:
        return []


def section(profiles: Sequence[Profiled], name: str) -> Markup:
    """Make the section of a run's profiles; empty if there are none."""
    if not profiles:
        return Markup()
    parts = [_profile(each, f"{name}-flame-{place}") for place, each in enumerate(profiles)]
    return tag(
        "section",
        tag("h2", "CPU time by task"),
        tag("p", _HOW_TO_READ, class_="aside"),
        *parts,
        class_="profiles",
    )


def section_data(profiles: Sequence[Profiled], name: str) -> Iterator[Markup]:
    """Yield what the script draws in that section."""
    for place, each in enumerate(profiles[:MOST_DRAWN]):
        yield data(f"{name}-flame-{place}", flame_data(each))


def script(profiles: Sequence[Profiled]) -> str:
    """Return the script that a page with flame graphs needs."""
    if not profiles:
        return ""
    return (files("streamgauge.report.profile") / "flame.js").read_text("utf-8")


def profile_page(of: Profiled) -> str:
    """Return a page of one profile."""
    body = [tag("h1", of.title), section([of], "profile")]
    return make_page(of.title, body, [*section_data([of], "profile")], "", script([of]))


def _profile(of: Profiled, name: str) -> Markup:
    doubts = list(of.doubts())
    drawn = int(name.rpartition("-")[2]) < MOST_DRAWN and of.told.samples > 0
    return tag(
        "section",
        tag("h3", f"{of.title}: {of.total()} of {of.unit}"),
        tag("p", of.facts(), class_="aside"),
        tag("p", f"{of.overhead()}; {of.counters()}", class_="aside"),
        tag("ul", *map(warning, doubts), class_="warnings") if doubts else Markup(),
        _bar(of),
        _table(of),
        tag("p", of.unmatched() or "", class_="aside"),
        _flame(of, name) if drawn else Markup(),
    )


def _bar(of: Profiled) -> Markup:
    """Draw the shares of all tasks in one bar."""
    shades = colours(of)
    parts = [
        tag(
            "span",
            row.task if row.share > 0.08 else "",
            title=f"{row.task}: {row.share:.1%}",
            style=f"width:{100 * row.share:.2f}%;background:{shades.get(row.task, QUIET)}",
        )
        for row in of.rows()
    ]
    return tag("div", *parts, class_="stacked", role="img", aria_label="Shares of tasks")


def _table(of: Profiled) -> Markup:
    shades = colours(of)
    rows = [
        [
            join([_dot(shades.get(row.task, QUIET)), row.task]),
            number(row.cost, row.share),
            number(row.interval, row.high - row.low),
            number(f"{row.share:.1%}", row.share),
            number(f"{row.samples:,}", row.samples),
            *([] if row.cycles is None else [number(row.cycles, row.share)]),
        ]
        for row in of.rows()
    ]
    header = ["task", of.unit, "95 % interval", "share", "samples"]
    header += [of.cycles_unit] if of.cycles_unit else []
    shown = table(header, rows, caption=f"Tasks of {of.title}") if rows else Markup()
    roles = [
        [row.task, number(row.cost, row.share), number(f"{row.share:.1%}", row.share)]
        for row in of.roles()
    ]
    if len(roles) < 2:
        return shown
    return join([shown, table(["role", of.unit, "share"], roles, caption=f"Roles of {of.title}")])


def _dot(shade: str) -> Markup:
    return tag("span", class_="dot", style=f"background:{shade}")


def _flame(of: Profiled, name: str) -> Markup:
    tasks = [tag("option", "all tasks", value="")]
    names = flame_tasks(of)
    tasks += [tag("option", task, value=str(place)) for place, task in names]
    controls = tag(
        "p",
        tag("label", "Find ", tag("input", type="search", placeholder="class or method")),
        tag("label", " Task ", tag("select", *tasks)),
        tag("button", "Whole graph", type="button"),
        class_="controls",
    )
    return tag(
        "figure",
        controls,
        tag("p", " ", class_="aside", data_told=True),
        tag("canvas", tabindex="0", role="img", aria_label=f"Flame graph of {of.title}"),
        data_flame=name,
        class_="flame",
    )


def flame_tasks(of: Profiled) -> list[tuple[int, str]]:
    """Return the tasks of the flame graph with their numbers, by name."""
    assigned = assign(of.profile.stacks, of.tasks, of.profile.plan)
    return sorted(enumerate(assigned.tasks), key=lambda each: each[1])
