"""What a study of the broker shows of each trial: the table of the terminal and of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.report.verdict import MARKS
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_count, format_duration, format_rate, format_size


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and the value by which it is sorted."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class StudyTable:
    """Trials by the ways to send that differ among them."""

    same: str
    """The ways to send in which all trials agree."""
    header: list[str]
    rows: list[list[Cell]]


def study_table(columns: Sequence[Column], results: Sequence[TrialResult]) -> StudyTable:
    """Return the table of a study."""
    ways = [_way(result) for result in results]
    names = _differing(ways)
    shown = [each for each in columns if any(each.metric in r.metrics for r in results)]
    return StudyTable(
        same=", ".join(f"{name} {cell.text}" for name, cell in _agreed(ways)),
        header=[*names, "took all", *(each.name for each in shown)],
        rows=[
            [
                *(way[name] for name in names),
                Cell(MARKS[result.kept_up.holds]),
                *(each.cell(result) for each in shown),
            ]
            for way, result in zip(ways, results, strict=True)
        ],
    )


@dataclass(frozen=True)
class Column:
    """A metric of each trial: left out where none has it."""

    name: str
    metric: str
    write: Callable[[float], str]

    def cell(self, result: TrialResult) -> Cell:
        """Return the cell of a trial."""
        value = result.metrics.get(self.metric)
        return Cell("–") if value is None else Cell(self.write(value), value)


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.1f}"


def _cores(cores: float) -> str:
    return f"{cores:.2f}"


# Factors that have columns of their own here.
_LOAD = ("acks", "batch", "linger", "compression", "senders", "source")
_SHOWN = {"rate", "partitions", *(f"L.{name}" for name in _LOAD)}
INTAKE = (
    Column("reached", "rate.appended", format_rate),
    Column("worst second", "rate_per_second.min", format_rate),
    Column("best second", "rate_per_second.max", format_rate),
    Column("worst minute", "rate_per_minute.min", format_rate),
    Column("best minute", "rate_per_minute.max", format_rate),
    Column("MB/s", "bytes.appended", _megabytes),
    Column("MessagesIn", "broker.messages", format_rate),
    Column("BytesIn MB/s", "broker.bytes", _megabytes),
    Column("request p50", "request.p50", format_duration),
    Column("request max", "request.max", format_duration),
    Column("CPU broker", "cpu.broker", _cores),
    Column("CPU sender", "cpu.sender", _cores),
    Column("memory broker", "memory.broker", format_size),
    Column("system load", "load.1m", lambda load: f"{load:.2f}"),
)
"""What the broker took in."""
APPEND_TIMES = (
    Column("reached", "rate.appended", format_rate),
    Column("records per time", "append_run.mean", format_count),
    Column("records p99", "append_run.p99", format_count),
    Column("records max", "append_run.max", format_count),
    Column("step", "append_step.mean", format_duration),
    Column("step p99", "append_step.p99", format_duration),
    Column("step max", "append_step.max", format_duration),
)
"""How many records share an append time."""


def _way(result: TrialResult) -> dict[str, Cell]:
    """Return what distinguishes the trials of a study."""
    spec, load = result.spec, result.spec.load
    varied = {name: Cell(value) for name, value in spec.factors.items() if name not in _SHOWN}
    senders = result.sender.get("senders") or load.senders
    return {
        "offered": Cell(format_rate(spec.rate), spec.rate),
        "acks": Cell(load.acks),
        "batch": Cell(format_size(load.batch), load.batch),
        "linger": Cell(format_duration(load.linger_s), load.linger_s),
        "compression": Cell(load.compression),
        "senders": Cell(str(senders or "–")),
        "partitions": Cell(str(spec.partitions), spec.partitions),
        "source": Cell(load.source),
        **varied,
        "repeat": Cell(str(spec.repeat), spec.repeat),
    }


def _differing(ways: Sequence[Mapping[str, Cell]]) -> list[str]:
    """Name what needs a column: always the rate, the others where the trials differ."""
    names = ways[0] if ways else ["offered"]
    return [name for name in names if name == "offered" or len({way[name] for way in ways}) > 1]


def _agreed(ways: Sequence[Mapping[str, Cell]]) -> list[tuple[str, Cell]]:
    """Return what all trials have in common, which needs no column."""
    differing = _differing(ways)
    return [
        (name, cell) for name, cell in (ways[0] if ways else {}).items() if name not in differing
    ]
