"""A comparison as a page in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from streamgauge.measure.comparison import Compared, Comparison, Pair
from streamgauge.measure.limits import Checked
from streamgauge.measure.statistics import Floats
from streamgauge.report.compare_charts import curves, forest
from streamgauge.report.compare_rows import (
    HEADER,
    Row,
    common_differences,
    headline_metrics,
    notes,
    place,
    refusal,
    rows,
    sentence,
)
from streamgauge.report.standalone import element, figure, page
from streamgauge.results.folder import RunFolder
from streamgauge.results.tables import measured_seconds

if TYPE_CHECKING:
    import altair as alt

_CLASSES = {True: "good", False: "bad", None: ""}
_READING = (
    "A ratio is the median of the other's trials by that of the base's; its interval comes from"
    " drawing trials anew, 2,000 times. An interval that holds 1 is no difference. Brackets hold"
    " the smallest and the largest trial. ▲ better, ▼ worse, ● neither, ○ not told."
)


def html(
    folders: Sequence[RunFolder],
    comparisons: Sequence[Comparison],
    checked: Sequence[Checked] = (),
    further: Sequence[str] = (),
) -> str:
    """Write comparisons as a page.

    Args:
        folders: The base, then the other runs.
        comparisons: One for each other run.
        checked: What came of the limits.
        further: Metrics to show beside the usual ones.
    """
    charts: dict[str, alt.TopLevelMixin] = {}
    body = [element("h1", f"Compared with {comparisons[0].base}"), element("p", _READING, "dim")]
    body += _limits(checked)
    for number, comparison in enumerate(comparisons):
        body += _comparison(comparison, number, charts, further)
    body += _curves(folders, comparisons, charts)
    body += [text for comparison in comparisons for text in _everything(comparison)]
    return page(f"{comparisons[0].base} compared", body, charts)


def _comparison(
    comparison: Comparison,
    number: int,
    charts: dict[str, alt.TopLevelMixin],
    further: Sequence[str],
) -> Iterator[str]:
    yield element("h2", comparison.other)
    yield element("p", f"{sentence(comparison)}.")
    told = [f"changed: {text}" for text in common_differences(comparison)]
    told += [f"note: {text}" for text in notes(comparison)]
    if told:
        yield f"<ul>{''.join(element('li', text) for text in told)}</ul>"
    chart = forest(comparison, further)
    if chart is not None:
        charts[f"forest{number}"] = chart
        yield figure(f"forest{number}", "Each ratio with its 95 % interval; at 1 nothing changed.")
    for pair in comparison.pairs:
        yield from _pair(pair, headline_metrics(pair, further))


def _pair(pair: Pair, metrics: Sequence[Compared]) -> Iterator[str]:
    counts = " and ".join(str(len(side)) for side in pair.trials)
    yield element("h3", f"{place(pair)} · {counts} trials")
    why = refusal(pair)
    if why is not None:
        yield element("p", f"{why}.", "refused")
    if metrics:
        yield _table(rows(metrics))


def _table(found: Sequence[Row]) -> str:
    """Put the verdict first: that is what a narrow screen shows."""
    head = "".join(
        f'<th scope="col" class="{escape(name)}">{escape(name)}</th>'
        for name in _verdict_first(HEADER)
    )
    lines = "".join(f"<tr>{''.join(_cells(row))}</tr>" for row in found)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _verdict_first(cells: Sequence[str]) -> tuple[str, ...]:
    name, base, other, ratio, interval, verdict = cells
    return name, verdict, ratio, interval, base, other


def _cells(row: Row) -> Iterator[str]:
    name, verdict, *rest = _verdict_first(row.cells)
    yield element("td", name)
    yield element("td", verdict, f"verdict {_CLASSES[row.improves]}".strip())
    yield from (element("td", cell) for cell in rest)


def _limits(checked: Sequence[Checked]) -> Iterator[str]:
    if checked:
        yield element("h2", "Limits")
    for each in checked:
        text = f"{each.limit} {each.place}, {each.other}: {each.outcome}: {each.reason}"
        yield element("p", text, "" if each.outcome == "held" else "refused")


def _everything(comparison: Comparison) -> Iterator[str]:
    for pair in comparison.pairs:
        if all(pair.trials):
            title = f"All metrics of {comparison.other}, {place(pair)}"
            yield f"<details>{element('summary', title)}{_table(rows(pair.metrics))}</details>"


def _curves(
    folders: Sequence[RunFolder],
    comparisons: Sequence[Comparison],
    charts: dict[str, alt.TopLevelMixin],
) -> Iterator[str]:
    """Draw the percentiles of every question that can be compared, all runs over each other."""
    found = {
        name: samples
        for name, samples in percentile_samples(folders, comparisons).items()
        if len(samples) > 1
    }
    if found:
        yield element("h2", "Percentiles of the latency")
        text = "Thin: each trial. Bold: all trials of a run. The curve ends where the sample does."
        yield element("p", text, "dim")
    for number, (name, samples) in enumerate(found.items()):
        charts[f"curves{number}"] = curves(samples)
        yield element("h3", name)
        yield figure(f"curves{number}", "Latency over the percentile.")


def percentile_samples(
    folders: Sequence[RunFolder], comparisons: Sequence[Comparison]
) -> Mapping[str, Mapping[str, Sequence[Floats]]]:
    """Read the latencies to draw: by question, by run, of each trial that counts."""
    base, *others = folders
    found: dict[str, dict[str, list[Floats]]] = {}
    for folder, comparison in zip(others, comparisons, strict=True):
        for pair in comparison.pairs:
            if pair.obstacles:
                continue
            samples = found.setdefault(place(pair), {})
            if comparison.base not in samples:
                samples[comparison.base] = _latencies(base, pair.trials[0])
            if comparison.other not in samples:
                samples[comparison.other] = _latencies(folder, pair.trials[1])
    return {
        question: {name: trials for name, trials in samples.items() if trials}
        for question, samples in found.items()
    }


def _latencies(folder: RunFolder, numbers: Sequence[int]) -> list[Floats]:
    results = [result for result in folder.trials() if result.spec.number in numbers]
    samples = [measured_seconds(folder, result) for result in results]
    return [sample for sample in samples if len(sample)]
