"""A profile in the terminal: a row and a bar for each task."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.report.profile.profiled import Profiled

_BAR = 40
_WIDE = 200
_LEAST = 0.001
"""Share of a task below which it has no row of its own."""


def render(of: Profiled) -> Iterator[RenderableType]:
    """Show what each task cost, then what to know about it."""
    yield Text.assemble((f"\n{of.title}", "bold"), f" · {of.total()} of {of.unit}")
    yield Text(f"  {of.facts()}", style="dim")
    yield Text(f"  {of.overhead()}; {of.counters()}", style="dim")
    rows = of.rows()
    if rows:
        yield _table(of)
    small = [row for row in rows if row.share < _LEAST]
    if small:
        share = sum(row.share for row in small)
        yield Text(f"  and {len(small)} more with {share:.2%} in total", style="dim")
    if len(of.roles()) > 1:
        roles = ", ".join(f"{row.task} {row.cost} ({row.share:.1%})" for row in of.roles())
        yield Text(f"  by role: {roles}")
    if (unmatched := of.unmatched()) is not None:
        yield Text(f"  {unmatched}", style="dim")
    yield from (Text(f"  note: {text}", style="yellow") for text in of.doubts())


def as_text(of: Profiled) -> str:
    """Return the same as plain text."""
    console = Console(width=_WIDE, color_system=None, highlight=False)
    with console.capture() as captured:
        for part in render(of):
            console.print(part)
    return captured.get()


def _table(of: Profiled) -> Table:
    table = Table(box=box.MARKDOWN)
    table.add_column("task")
    more = [of.cycles_unit] if of.cycles_unit else []
    for name in (of.unit, "95 % interval", "share", "samples", *more):
        table.add_column(name, justify="right")
    table.add_column("")
    rows = [row for row in of.rows() if row.share >= _LEAST]
    widest = max((row.share for row in rows), default=1.0)
    for row in rows:
        bar = "█" * max(1, round(_BAR * row.share / widest))
        cells = [row.cost, row.interval, f"{row.share:.1%}", f"{row.samples:,}"]
        table.add_row(row.task, *cells, *([row.cycles or ""] if more else []), bar)
    return table
