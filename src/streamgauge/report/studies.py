"""Studies of the broker in the terminal: what it took, and when it stamped it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.report.stairs import EXPERIMENT, staircases
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_count, format_duration, format_rate, format_size

_ROWS = 8
_COLUMNS = 100
_WAYS = ("offered", "acks", "batch", "linger", "senders", "partitions", "source")


def broker(folder: RunFolder) -> list[RenderableType]:
    """Show what the broker took, by rate and way to send."""
    results = folder.trials()
    ways = _Ways(results)
    counted = any("broker.messages" in result.metrics for result in results)
    table = _table(
        *ways.names,
        "took all",
        "reached",
        "worst second",
        "best minute",
        "MB/s",
        *(("broker counts", "MB/s") if counted else ()),
        "request",
        "cpu broker",
        "sender",
    )
    for result in results:
        table.add_row(*ways.of(result), *_taken(result, counted=counted))
    return [ways.same, table]


def append_time(folder: RunFolder) -> list[RenderableType]:
    """Show how many records share an append time, and the first steps."""
    results = folder.trials()
    ways = _Ways(results)
    table = _table(*ways.names, "reached", "records per time", "p99", "step", "p99", "max")
    for result in results:
        table.add_row(*ways.of(result), *_steps(result))
    charts = [
        Text("\n".join([title, *draw_steps(steps), ""]), style="dim")
        for result in results
        for title, steps in staircases(folder, result)
    ]
    return [ways.same, table, *charts]


STUDIES: dict[str, Callable[[RunFolder], list[RenderableType]]] = {
    "broker": broker,
    EXPERIMENT: append_time,
}
"""By the name of the experiment."""


def draw_steps(values: Sequence[int], columns: int = _COLUMNS, rows: int = _ROWS) -> list[str]:
    """Draw a rising series as lines of text, the highest first."""
    highest = max(*values, 1)
    height = [value * (rows - 1) // highest for value in values]
    places = np.arange(len(values)) * columns // len(values)
    lines = [[" "] * columns for _ in range(rows)]
    for place, row in zip(places.tolist(), height, strict=True):
        lines[rows - 1 - row][place] = "▪"
    return ["".join(line).rstrip() for line in lines]


def _table(*names: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name, justify="right")
    return table


class _Ways:
    """The ways to send: a column for what differs, a line for what does not."""

    def __init__(self, results: Sequence[TrialResult]) -> None:
        ways = [_way(result) for result in results]
        differing = {name for way in ways for name in way if way[name] != ways[0][name]}
        self.names = [name for name in _WAYS if name == "offered" or name in differing]
        rest = [name for name in _WAYS if ways and name not in self.names]
        self.same = Text(", ".join(f"{name} {ways[0][name]}" for name in rest), style="dim")

    def of(self, result: TrialResult) -> list[str]:
        """Return the columns of a trial."""
        way = _way(result)
        return [way[name] for name in self.names]


def _way(result: TrialResult) -> dict[str, str]:
    spec, load = result.spec, result.spec.load
    return {
        "offered": format_rate(spec.rate),
        "acks": load.acks,
        "batch": format_size(load.batch),
        "linger": format_duration(load.linger_s),
        "senders": str(result.sender.get("senders") or load.senders or "–"),
        "partitions": str(spec.partitions),
        "source": load.source,
    }


def _taken(result: TrialResult, *, counted: bool) -> Iterable[RenderableType]:
    yield {True: "✓", False: "✗", None: "–"}[result.kept_up.holds]
    for name in ("rate.appended", "rate_per_second.min", "rate_per_minute.max"):
        yield _told(result, name, format_rate)
    yield _told(result, "bytes.appended", _megabytes)
    if counted:
        yield _told(result, "broker.messages", format_rate)
        yield _told(result, "broker.bytes", _megabytes)
    yield _told(result, "request.p50", format_duration)
    for role in ("broker", "sender"):
        yield _told(result, f"cpu.{role}", lambda cores: f"{cores:.2f}")


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.1f}"


def _steps(result: TrialResult) -> Iterable[str]:
    yield _told(result, "rate.appended", format_rate)
    for name in ("append_run.mean", "append_run.p99"):
        yield _told(result, name, format_count)
    for name in ("append_step.mean", "append_step.p99", "append_step.max"):
        yield _told(result, name, format_duration)


def _told(result: TrialResult, name: str, write: Callable[[float], str]) -> str:
    value = result.metrics.get(name)
    return "–" if value is None else write(value)
