"""The search for demand or capacity in the terminal: the grid, what was found, what to doubt."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.experiments.scalability.answer import Scaling, Search
from streamgauge.report.scaling.tried import grid_rows
from streamgauge.units import format_duration

_STYLES = {"pass": "green", "FAIL": "bold red", "untold": "yellow"}


def render(answer: Scaling, search: Search, ceiling: float | None) -> Iterator[RenderableType]:
    """Show one search."""
    if search.tried:
        yield _grid(answer, search)
    if ceiling is not None:
        yield Text(f"  harness ceiling (noop): {ceiling:,.0f}/s per input stream", style="dim")
    yield Text.assemble("  ", (search.query, "bold"), ": ", (search.conclusion, "bold"))
    yield from (Text(f"  {line}") for line in remarks(search))
    if search.costs:
        yield _costs(search)


def remarks(search: Search) -> Iterator[str]:
    """Yield what explains the findings, and what contradicts them."""
    if search.explained is not None:
        yield from search.explained.told
        for pair in search.explained.efficiencies:
            yield f"scaling efficiency from {pair.less:g} to {pair.more:g}: {pair.value:.2f}"
    yield from (f"contradiction: {each}" for each in search.contradictions)
    yield from search.disagreements
    if search.drift is not None:
        yield search.drift.told


def _grid(answer: Scaling, search: Search) -> Table:
    resources, rows = grid_rows(answer, search)
    title = f"{', '.join(answer.objectives)}, by {answer.load} and {answer.resources}"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column(answer.load, justify="right", no_wrap=True)
    for size in resources:
        table.add_column(f"{answer.resources} {size}", no_wrap=True)
    for load, *cells in rows:
        table.add_row(load, *(Text(cell, style=_style(cell)) for cell in cells))
    return table


def _style(cell: str) -> str:
    return _STYLES.get(cell.partition(" ")[0], "dim")


def _costs(search: Search) -> Table:
    priced = any(each.per_million is not None for each in search.costs)
    table = Table(box=box.MARKDOWN, title="what it takes", title_justify="left")
    header = ["load", "resources", "cores", "CPU time per million records"]
    for name in [*header, *(["cost per million", "cost per month"] if priced else [])]:
        table.add_column(name, justify="right")
    for row in cost_rows(search):
        table.add_row(*row)
    return table


def cost_rows(search: Search) -> Iterator[list[str]]:
    """Return what carries each load, and what that costs where there is a price."""
    for each in search.costs:
        cpu_s = each.cpu_s_per_million
        row = [each.load, each.resources, f"{each.cores:g}"]
        row.append("–" if cpu_s is None else format_duration(cpu_s))
        if each.per_million is not None and each.per_month is not None:
            row += [f"{each.per_million:.4g}", f"{each.per_month:.4g}"]
        yield row
