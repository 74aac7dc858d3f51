"""The trials of a run as a table of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from streamgauge.report.page.markup import number, table, tag
from streamgauge.report.page.shell import mark
from streamgauge.results.factors import differing, shape_of
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_count, format_latency, format_rate

if TYPE_CHECKING:
    from streamgauge.report.page.run_view import RunView

_LONG = 1_000_000


def trials_table(run: RunView, results: Sequence[TrialResult], family: str, caption: str) -> Markup:
    """Make a table of trials with a family of latencies; empty if there are no trials."""
    # The mode last: a phone shows the verdicts without scrolling.
    varied = differing([result.spec for result in results])
    header = ["#", "query", "rate", *varied, "valid", "correct", "kept up"]
    header += ["p50", "p90", "p99", "max", "outputs", "engine CPU", "mode"]
    rows = [[*_trial(run, result, family, varied)] for result in results]
    return table(header, rows, caption=caption, class_="trials") if rows else Markup()


def link_to_charts(run: RunView, trial: int, text: str) -> str:
    """Link a text to the charts of a trial, if it has some."""
    if all(view.result.spec.number != trial for view in run.views):
        return text
    return tag("a", text, href=f"#{run.name}-charts", data_trial=str(trial))


def latency_cell(value_s: float | None) -> Markup:
    """Make the cell of a latency."""
    if value_s is None:
        return number("–", None)
    return number(format_latency(value_s), value_s)


def _trial(run: RunView, result: TrialResult, family: str, varied: Sequence[str]) -> Iterator[str]:
    spec, found = result.spec, result.metrics
    query = spec.query if spec.repeat == 1 else f"{spec.query} ({spec.repeat})"
    yield number(str(spec.number), spec.number)
    yield link_to_charts(run, spec.number, query)
    shaped = f" · {shape_of(spec)}" if spec.shape else ""
    yield number(f"{format_rate(spec.rate)}{shaped}", spec.rate)
    yield from (spec.factors.get(name, "–") for name in varied)
    for judged in (result.valid, result.correct, result.kept_up):
        order = {True: "2", None: "1", False: "0"}[judged.holds]
        yield tag("td", mark(judged.holds), class_="verdict-cell", data_value=order)
    for name in ("p50", "p90", "p99", "max"):
        yield latency_cell(found.get(f"{family}.{name}"))
    yield _count(result.counts.outputs)
    cpu = found.get("cpu.engine")
    yield number("–" if cpu is None else f"{cpu:.2f}", cpu)
    yield spec.mode or "–"


def _count(outputs: int) -> Markup:
    """Write a number in full as long as it is short."""
    return number(f"{outputs:,}" if outputs < _LONG else format_count(outputs), outputs)
