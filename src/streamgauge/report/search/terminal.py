"""The search for a rate in the terminal: its trials in their order, then what it found.

The latencies at that rate are a table with the columns of Karimov et al.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.experiments.conclusions import in_growth
from streamgauge.experiments.search_answer import SearchAnswer
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_duration, format_rate

_PUBLISHED = ("mean", "min", "max", "p90", "p95", "p99")
_STYLES = {"pass": "green", "fail": "bold red", "invalid": "yellow", "inconclusive": "yellow"}


def render(search: SearchAnswer, ceiling: float | None = None) -> Iterator[RenderableType]:
    """Show the trials of one search, the ceiling of the harness where it is known, the answer."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("rate", justify="right", no_wrap=True)
    table.add_column("purpose", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("reason")
    for trial in search.trials:
        outcome = trial.outcome or "–"
        table.add_row(
            str(trial.trial),
            format_rate(trial.rate),
            trial.role,
            Text(outcome.upper(), style=_STYLES.get(outcome, "dim")),
            Text(trial.reason),
        )
    if search.trials:
        yield table
    if ceiling is not None:
        yield Text(f"  harness ceiling (noop): {format_rate(ceiling)}", style="dim")
    yield Text.assemble("  ", (search.query, "bold"), ": ", (search.conclusion, "bold"))
    if any(search.by_growth):
        yield Text(f"  {in_growth(search.by_growth)}", style="dim")


def render_latencies(
    search: SearchAnswer, results: Sequence[TrialResult]
) -> Iterator[RenderableType]:
    """Show the event-time latency at the rate that was found, and at what was tried after it."""
    of = {result.spec.number: result for result in results}
    known = [(each.at, of[each.trial]) for each in search.latency if each.trial in of]
    if not known:
        return
    table = Table(box=box.MARKDOWN, title="event-time latency", title_justify="left")
    table.add_column("at")
    for name in ("rate", *_PUBLISHED, "processing-time mean", "CPU engine"):
        table.add_column(name, justify="right", no_wrap=name in _PUBLISHED)
    for at, result in known:
        table.add_row(at, format_rate(result.spec.rate), *_figures(result))
    yield table


def _figures(result: TrialResult) -> Iterator[str]:
    metrics = result.metrics
    names = (*(f"event_latency.{name}" for name in _PUBLISHED), "processing_latency.mean")
    for name in names:
        yield format_duration(metrics[name]) if name in metrics else "–"
    yield f"{metrics['cpu.engine']:.2f}" if "cpu.engine" in metrics else "–"
