"""A comparison in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.comparison.compare import Comparison, Pair
from streamgauge.comparison.limits import Checked
from streamgauge.comparison.wording import (
    HEADER,
    Row,
    common_differences,
    headline_metrics,
    notes,
    place,
    refusal,
    rows,
)

_STYLES = {True: "green", False: "bold red", None: ""}
_OUTCOMES = {"held": "green", "exceeded": "bold red", "unknown": "yellow"}


def render(
    comparisons: Sequence[Comparison], checked: Sequence[Checked] = (), further: Sequence[str] = ()
) -> RenderableType:
    """Show comparisons, then the outcomes of the limits.

    Args:
        comparisons: One for each other run.
        checked: The outcomes of the limits.
        further: Metrics to show in addition to the usual ones.
    """
    parts: list[RenderableType] = []
    for comparison in comparisons:
        parts += _comparison(comparison, further)
    parts += [_limit(each) for each in checked]
    return Group(*parts)


def _comparison(comparison: Comparison, further: Sequence[str]) -> Iterator[RenderableType]:
    yield Text.assemble(
        ("base  ", "dim"),
        (comparison.base, "bold"),
        ("\nother ", "dim"),
        (comparison.other, "bold"),
    )
    for text in common_differences(comparison):
        yield Text(f"  changed: {text}")
    for found in comparison.sustained:
        yield Text(f"\n{found.says}", style="bold")
    if not comparison.pairs and not comparison.sustained:
        yield Text("  nothing to compare: no trial has finished", style="yellow")
    for pair in comparison.pairs:
        yield from _pair(pair, further)
    for text in notes(comparison):
        yield Text(f"  note: {text}", style="yellow")
    yield Text("")


def _pair(pair: Pair, further: Sequence[str]) -> Iterator[RenderableType]:
    counts = " and ".join(str(len(side)) for side in pair.trials)
    yield Text.assemble((f"\n{place(pair)}", "bold"), (f" · {counts} trials", "dim"))
    why = refusal(pair)
    if why is not None:
        yield Text(f"  {why}", style="yellow")
    found = rows(headline_metrics(pair, further))
    if found:
        yield _table(found)


def _table(found: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in HEADER:
        right = name not in ("metric", "verdict")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for row in found:
        *cells, verdict = (Text(cell) for cell in row.cells)
        verdict.stylize(_STYLES[row.improves])
        table.add_row(*cells, verdict)
    return table


def _limit(checked: Checked) -> Text:
    return Text.assemble(
        f"  {checked.limit} {checked.place}, {checked.other}: ",
        (checked.outcome, _OUTCOMES[checked.outcome]),
        f", {checked.reason}",
    )
