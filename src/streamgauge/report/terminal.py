"""A run in the terminal: a table that is understood at a glance, then what to know about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from streamgauge.report import ladder, trial_table
from streamgauge.report.searches import searches
from streamgauge.report.studies import render_study
from streamgauge.results.factors import named
from streamgauge.results.folder import RunFolder, RunRecord
from streamgauge.results.repeats import Repeats, repeats
from streamgauge.results.summary import reasons
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_rate


def render(folder: RunFolder) -> RenderableType:
    """Show a run: results, then what is wrong or worth knowing."""
    record, results = folder.record(), folder.trials()
    parts: list[RenderableType] = [_headline(record)]
    if found := searches(record.answer):
        for search in found:
            ceiling = record.ceiling(search["query"])
            parts += [*ladder.render(search, ceiling), *ladder.render_latencies(search, results)]
    else:
        parts += render_study(folder) or trial_table.render(results)
        parts += _remarks(results, record.spec.objectives)
    parts += [Text(f"  note: {text}", style="yellow") for text in record.warnings]
    parts.append(Text(f"  {folder.path}", style="dim"))
    return Group(*parts)


def _headline(record: RunRecord) -> Text:
    spec = record.spec
    line = Text(f"{spec.workload} on {spec.engine}", style="bold")
    line.append(f" · {record.machine.get('cores')} cores", style="dim")
    if not spec.services:
        line.append(", everything on one machine", style="dim")
    if (lowest := _ceiling(record)) is not None and not searches(record.answer):
        line.append(f" · ceiling of the harness {format_rate(lowest)}", style="dim")
    line.append(
        f" · {record.status}", style="bold green" if record.status == "done" else "bold red"
    )
    if spec.quick:
        line.append(" · quick: not a measurement", style="bold yellow")
    if spec.survey:
        line.append(" · survey: a rough answer", style="bold yellow")
    return line


def _ceiling(record: RunRecord) -> float | None:
    """Return the lowest of the queries' ceilings; None unless all are known."""
    known = [record.ceiling(query) for query in record.spec.queries]
    return min((rate for rate in known if rate is not None), default=None) if all(known) else None


def _remarks(results: Sequence[TrialResult], objectives: Sequence[str]) -> Iterator[Text]:
    """Tell what is not as it should be, once; that a quick run is one was said already."""
    for group in repeats(results):
        told: dict[str, list[TrialResult]] = {}
        for result in group.trials:
            for reason in reasons(result, objectives):
                if not (result.spec.quick and reason == result.kept_up.reason):
                    told.setdefault(reason, []).append(result)
        yield from (_remark(group, reason, of) for reason, of in told.items())


def _remark(group: Repeats, reason: str, of: Sequence[TrialResult]) -> Text:
    broken = any(each.status != "done" or each.correct.holds is False for each in of)
    which = "" if len(of) == len(group.trials) else _numbered([each.spec.repeat for each in of])
    return Text(f"  {named(group.spec)}{which}: {reason}", style="red" if broken else "")


def _numbered(numbers: Sequence[int]) -> str:
    return f", repeat {' and '.join(str(number) for number in numbers)}"
