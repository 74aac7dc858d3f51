"""Runs as tables with the columns of publications."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import mean

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.errors import unknown_name
from streamgauge.results.factors import differing
from streamgauge.results.folder import RunFolder
from streamgauge.results.repeats import Repeats, repeats
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_rate

_COLUMNS = {"90%tile in s": "p90", "Min in s": "min", "Max in s": "max", "Mean in s": "mean"}
_BROKEN = "n/a"


def render_as(folder: RunFolder, name: str) -> Iterator[RenderableType]:
    """Show a run as a table of that name.

    Raises:
        UsageError: There is no such table.
    """
    if name not in TABLES:
        raise unknown_name("table of a publication", name, TABLES)
    yield from TABLES[name](folder)


def _espbench_2021(folder: RunFolder) -> Iterator[RenderableType]:
    """Show latencies as table 4.4 of Hesse's dissertation: a row for each query and rate.

    Repeats are averaged, as there; windows count from their end. A row without a valid and
    correct trial has no figures.
    """
    table = Table(box=box.MARKDOWN)
    table.add_column("Query")
    table.add_column("Input Rate", justify="right")
    table.add_column("System")
    groups = repeats(folder.trials())
    varied = differing([group.spec for group in groups])
    for column in (*varied, "Repeats", *_COLUMNS):
        table.add_column(column, justify="right")
    for group in groups:
        table.add_row(*_espbench_row(group, varied))
    yield table
    yield Text(f"means over the valid and correct repeats; {_BROKEN}: there are none", "dim")


def _espbench_row(group: Repeats, varied: Sequence[str]) -> Iterator[str]:
    right = [each for each in group.trials if each.valid.holds and each.correct.holds]
    yield group.spec.query
    yield format_rate(group.spec.rate)
    yield " ".join(filter(None, (group.spec.engine, group.spec.mode)))
    yield from (group.spec.factors.get(name, "–") for name in varied)
    yield f"{len(right)} of {len(group.trials)}"
    for statistic in _COLUMNS.values():
        found = [value for each in right if (value := _published(each, statistic)) is not None]
        yield f"{mean(found):,.3f}" if found else _BROKEN


def _published(result: TrialResult, statistic: str) -> float | None:
    """Return a latency as it is published: that of a window from the window's end."""
    metrics = result.metrics
    return metrics.get(f"window_latency.{statistic}", metrics.get(f"latency.{statistic}"))


TABLES: Mapping[str, Callable[[RunFolder], Iterator[RenderableType]]] = {
    "espbench-2021": _espbench_2021
}
"""By the name of the preset of the publication."""
