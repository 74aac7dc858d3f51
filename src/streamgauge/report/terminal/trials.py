"""The trials of a run in the terminal: a row for each, one for all repeats of the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.report.verdict import MARKS
from streamgauge.results.factors import differing, named, shape_of
from streamgauge.results.repeats import Repeats, repeats
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_count, format_latency, format_rate

_SHOWN = ("p50", "p90", "p99", "max")
_STYLES = {True: "green", False: "bold red", None: "dim"}

Write = Callable[[float], str]


def render_trials(results: Sequence[TrialResult]) -> Iterator[RenderableType]:
    """Show trials, then what a reader has to know about the figures."""
    if not results:
        yield Text("  no trial has ended yet")
        return
    groups = repeats(results)
    yield _table(groups)
    if any(group.several for group in groups):
        yield Text("  ×n: the median of n repeats, with their range below", style="dim")
    yield from (_since_window_end(group) for group in groups if group.values("window_latency.max"))
    yield from (_of_growing(group) for group in groups if _intermediate(group))


def _table(groups: Sequence[Repeats]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    varied = differing([group.spec for group in groups])
    for name in ("query", "rate", *varied, "mode"):
        table.add_column(name)
    for name in ("valid", "correct", "kept up"):
        table.add_column(name, justify="center")
    for name in (*_SHOWN, "outputs", "cpu"):
        table.add_column(name, justify="right", no_wrap=True)
    for group in groups:
        table.add_row(*_row(group, varied))
    return table


def _row(group: Repeats, varied: Sequence[str]) -> Iterator[RenderableType]:
    spec = group.spec
    yield f"{spec.query}\n×{len(group.trials)}" if group.several else spec.query
    yield format_rate(spec.rate) + (f"\n{shape_of(spec)}" if spec.shape else "")
    yield from (spec.factors.get(name, "–") for name in varied)
    yield spec.mode or ""
    yield _mark(group.verdicts(lambda trial: trial.valid))
    yield _mark(group.verdicts(lambda trial: trial.correct))
    yield _mark(group.verdicts(lambda trial: trial.kept_up))
    for name in _SHOWN:
        yield _figure(group.values(f"latency.{name}"), format_latency)
    yield format_count(median(each.counts.outputs for each in group.counted))
    cpu = group.values("cpu.engine")
    yield f"{median(cpu):.2f}" if cpu else "–"


def _mark(found: Sequence[bool | None]) -> Text:
    """Show a verdict; if repeats differ, for how many of them it holds."""
    if len(set(found)) == 1:
        return Text(MARKS[found[0]], _STYLES[found[0]])
    style = _STYLES[False if False in found else None]
    return Text(f"{sum(holds is True for holds in found)}/{len(found)}", style=style)


def _figure(values: Sequence[float], write: Write) -> Text:
    """Write a figure; for several the median, and below it their range in its unit."""
    if not values:
        return Text("–")
    middle = write(median(values))
    if len(values) == 1:
        return Text(middle)
    return Text.assemble(middle, "\n", (_range(values, write, _unit(middle)), "dim"))


def _range(values: Sequence[float], write: Write, unit: str) -> str:
    """Write the smallest and the largest of some figures, without the unit where both have it."""
    low, high = write(min(values)), write(max(values))
    if _unit(low) == _unit(high) == unit:
        low, high = low.removesuffix(unit), high.removesuffix(unit)
        return low if low == high else f"{low}–{high}"
    return f"{low}–{high}".replace(" ", "")


def _unit(text: str) -> str:
    _, space, unit = text.rpartition(" ")
    return space + unit if space else ""


def _since_window_end(group: Repeats) -> Text:
    """Show the published latency of windows; the table's latency begins with the last record."""
    found = {name: group.values(f"window_latency.{name}") for name in _SHOWN}
    words = ", ".join(f"{name} {_in_words(values)}" for name, values in found.items() if values)
    return Text(f"  {named(group.spec)} from the window's end: {words}")


def _intermediate(group: Repeats) -> float:
    return median([each.counts.intermediate for each in group.counted] or [0])


def _of_growing(group: Repeats) -> Text:
    """Show how many outputs were right, but belonged to answers that were still to grow."""
    words = format_count(_intermediate(group))
    return Text(f"  {named(group.spec)}: {words} of the outputs are intermediate")


def _in_words(values: Sequence[float]) -> str:
    middle = format_latency(median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({_range(values, format_latency, _unit(middle))})"
