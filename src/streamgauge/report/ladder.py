"""The search for a rate in the terminal: its trials in their order, then what it found."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.report.searches import Search
from streamgauge.units import format_rate

_STYLES = {"pass": "green", "fail": "bold red", "invalid": "yellow", "inconclusive": "yellow"}


def render(search: Search, ceiling: float | None = None) -> Iterator[RenderableType]:
    """Show the ladder of one search, the ceiling of the harness where it is known, the answer."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("rate", justify="right", no_wrap=True)
    table.add_column("what for", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("reason")
    for trial in search["trials"]:
        outcome = trial["outcome"] or "–"
        table.add_row(
            str(trial["trial"]),
            format_rate(trial["rate"]),
            trial["role"],
            Text(outcome.upper(), style=_STYLES.get(outcome, "dim")),
            Text(trial["reason"]),
        )
    if search["trials"]:
        yield table
    if ceiling is not None:
        yield Text(f"  harness ceiling (noop): {format_rate(ceiling)}", style="dim")
    yield Text.assemble("  ", (search["query"], "bold"), ": ", (search["conclusion"], "bold"))
