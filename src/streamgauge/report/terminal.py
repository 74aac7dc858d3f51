"""A run in the terminal: a table that is understood at a glance, then what to know about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.report import ladder
from streamgauge.report.searches import latency_trials, searches
from streamgauge.report.studies import STUDIES
from streamgauge.results.folder import RunFolder, RunRecord
from streamgauge.results.summary import reasons
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_count, format_duration, format_rate

_CLOCK_S = 0.001
_MARKS = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("–", "dim")}


def render(folder: RunFolder) -> RenderableType:
    """Show a run: results, then what is wrong or worth knowing."""
    record, results = folder.record(), folder.trials()
    parts: list[RenderableType] = [_headline(record)]
    if found := searches(record.answer):
        known = _ceiling(record)
        parts += [part for search in found for part in ladder.render(search, known)]
        numbers = {number for search in found for number in latency_trials(search)}
        if shown := [result for result in results if result.spec.number in numbers]:
            parts.append(_table(shown))
    else:
        study = STUDIES.get(record.spec.experiment)
        parts += study(folder) if study else [_table(results)]
        parts += [_remark(text) for text in _remarks(results, record.spec.objectives)]
    parts += [Text(f"  note: {text}", style="yellow") for text in record.warnings]
    parts.append(Text(f"  {folder.path}", style="dim"))
    return Group(*parts)


def _headline(record: RunRecord) -> Text:
    spec = record.spec
    line = Text(f"{spec.workload} on {spec.engine}", style="bold")
    line.append(f" · {record.machine.get('cores')} cores", style="dim")
    if spec.kafka is None and spec.postgres is None:
        line.append(", everything on one machine", style="dim")
    if (ceiling := _ceiling(record)) is not None and not searches(record.answer):
        line.append(f" · ceiling of the harness {format_rate(ceiling)}", style="dim")
    line.append(
        f" · {record.status}", style="bold green" if record.status == "done" else "bold red"
    )
    if spec.quick:
        line.append(" · quick: not a measurement", style="bold yellow")
    if spec.survey:
        line.append(" · survey: a rough answer", style="bold yellow")
    return line


def _ceiling(record: RunRecord) -> float | None:
    known = record.machine.get("ceiling")
    return known if isinstance(known, float) else None


def _table(results: Sequence[TrialResult]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("query", "rate", "mode"):
        table.add_column(name)
    for name in ("valid", "correct", "kept up"):
        table.add_column(name, justify="center")
    for name in ("p50", "p90", "p99", "max", "outputs", "cpu"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        table.add_row(*_row(result))
    return table


def _row(result: TrialResult) -> Iterable[RenderableType]:
    spec, metrics = result.spec, result.metrics
    yield spec.query if spec.repeat == 1 else f"{spec.query} ({spec.repeat})"
    yield format_rate(spec.rate)
    yield spec.mode or ""
    for verdict in (result.valid, result.correct, result.kept_up):
        mark, style = _MARKS[verdict.holds]
        yield Text(mark, style=style)
    for name in ("p50", "p90", "p99", "max"):
        yield _latency(metrics.get(f"latency.{name}"))
    yield format_count(result.counts.outputs)
    cpu = metrics.get("cpu.engine")
    yield f"{cpu:.2f}" if cpu is not None else "–"


def _latency(value_s: float | None) -> str:
    """Write a latency as far as the broker's clock tells it, which counts milliseconds."""
    if value_s is None:
        return "–"
    return "< 1 ms" if 0 <= value_s < _CLOCK_S else format_duration(value_s)


def _remarks(
    results: Sequence[TrialResult], objectives: Sequence[str]
) -> list[tuple[TrialResult, str]]:
    """Collect what is not as it should be; that a quick run is one was said already."""
    return [
        (result, reason)
        for result in results
        for reason in reasons(result, objectives)
        if not (result.spec.quick and reason == result.kept_up.reason)
    ]


def _remark(remark: tuple[TrialResult, str]) -> Text:
    result, reason = remark
    style = "red" if result.status != "done" or result.correct.holds is False else ""
    return Text(f"  {result.spec.query} at {format_rate(result.spec.rate)}: {reason}", style=style)
