"""A comparison as a page in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING

from markupsafe import Markup

from streamgauge.comparison.charts import forest
from streamgauge.comparison.compare import Compared, Comparison, Pair, Sample
from streamgauge.comparison.limits import Checked, LimitOutcome
from streamgauge.comparison.wording import (
    HEADER,
    common_differences,
    headline_metrics,
    notes,
    place,
    refusal,
    rows,
    sentence,
)
from streamgauge.report.charts.runs import curves, over_time
from streamgauge.report.page.figure import chart_figure
from streamgauge.report.page.markup import number, table, tag
from streamgauge.report.page.sections import about
from streamgauge.report.page.shell import chart_library, make_page, mark, warning
from streamgauge.results.folder import RunFolder
from streamgauge.results.tables import measured_seconds, medians_over_time
from streamgauge.spec.trial import TrialResult

if TYPE_CHECKING:
    import altair as alt

_CLASSES = {True: "better", False: "worse", None: ""}
_MARKS: Mapping[LimitOutcome, bool | None] = {
    "held": True,
    "exceeded": False,
    "unknown": None,
}
_FOREST = "Each ratio with its 95 % interval; at 1 nothing changed."
_CURVES = (
    "The share of outputs on the axis took at most the time shown; a curve ends where its sample"
    " does. Thin: one trial; bold: all trials of a run."
)
_OVER_TIME = (
    "The median latency over the measured time, by the time the latest input was due; a line for"
    " each trial."
)
_PIECES = 100
_MOST_CURVES = 30
"""More charts would make the page slow to open."""
_READING = (
    "A ratio is the median of the other's trials divided by that of the base's; its interval comes"
    " from resampling the trials 2,000 times. An interval that contains 1 means no difference."
    " Brackets show the smallest and the largest trial. ▲ better, ▼ worse, ● neither, ○ unknown."
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
        checked: The outcomes of the limits.
        further: Metrics to show in addition to the usual ones.
    """
    with ThreadPoolExecutor(1) as meanwhile:
        library = meanwhile.submit(chart_library)
        charts: list[Markup] = []
        body = [
            tag("h1", f"Compared with {comparisons[0].base}"),
            about(folders[0].record()),
            *_limits(checked),
            *(
                _comparison(folder, each, charts, further)
                for folder, each in zip(folders[1:], comparisons, strict=True)
            ),
            *_curves(folders, comparisons, charts),
            *(block for each in comparisons for block in _everything(each)),
            tag("h2", "How to read this"),
            tag("p", _READING),
        ]
    title = f"{comparisons[0].base} compared"
    return make_page(title, body, charts, library.result() if charts else "")


def _comparison(
    folder: RunFolder, comparison: Comparison, charts: list[Markup], further: Sequence[str]
) -> Markup:
    return tag(
        "section",
        tag("h2", comparison.other),
        about(folder.record()),
        tag("p", _sentence(comparison), class_="verdict"),
        _badges(comparison),
        _told(comparison),
        _forest(comparison, f"forest{len(charts)}", charts, further),
        *(_pair(pair, headline_metrics(pair, further)) for pair in comparison.pairs),
    )


def _sentence(comparison: Comparison) -> str:
    text = sentence(comparison)
    return f"{text[:1].upper()}{text[1:]}."


def _badges(comparison: Comparison) -> Markup:
    """Count the verdicts of the metrics that people ask for first."""
    found = [row for pair in comparison.pairs for row in rows(headline_metrics(pair))]
    looks = dict.fromkeys((row.mark, row.word, _CLASSES[row.improves]) for row in found)
    words = [row.word for row in found]
    badges = [
        tag(
            "li",
            tag("span", sign, class_=class_ or None, aria_hidden="true"),
            tag("strong", word),
            tag("span", f"{words.count(word)} of {len(words)}"),
        )
        for sign, word, class_ in looks
    ]
    return tag("ul", *badges, class_="badges") if badges else Markup()


def _told(comparison: Comparison) -> Markup:
    """Show what to know before trusting the ratios, and what was changed."""
    refused: dict[str, list[str]] = {}
    for pair in comparison.pairs:
        if why := refusal(pair):
            refused.setdefault(why, []).append(place(pair))
    doubts = [f"{', '.join(places)}: {why}." for why, places in refused.items()]
    doubts += notes(comparison)
    changed = common_differences(comparison)
    return tag(
        "div",
        tag("ul", *map(warning, doubts), class_="warnings") if doubts else Markup(),
        tag("p", f"Changed: {'; '.join(changed)}.", class_="aside") if changed else Markup(),
    )


def _forest(
    comparison: Comparison, name: str, charts: list[Markup], further: Sequence[str]
) -> Markup:
    chart = forest(comparison, further)
    if chart is None:
        return Markup()
    shown, drawn = chart_figure(name, chart, "Ratios", _FOREST)
    charts.append(drawn)
    return shown


def _pair(pair: Pair, metrics: Sequence[Compared]) -> Markup:
    counts = " and ".join(str(len(side)) for side in pair.trials)
    return _table(metrics, f"{place(pair)}, {counts} trials") if metrics else Markup()


def _table(metrics: Sequence[Compared], caption: str) -> Markup:
    """Put the verdict first: that is what a narrow screen shows."""
    name, base, other, ratio, interval, verdict = HEADER
    header = (name, verdict, ratio, interval, base, other)
    return table(header, [[*_cells(each)] for each in metrics], caption=caption, class_="ratios")


def _cells(each: Compared) -> Iterator[str]:
    (row,) = rows([each])
    yield row.metric
    yield tag("td", f"{row.mark} {row.word}", class_=_CLASSES[row.improves] or None)
    ratio = each.ratio.value if each.ratio is not None and isfinite(each.ratio.value) else None
    yield number(row.ratio, ratio)
    yield number(row.interval, ratio)
    yield number(row.base, _median(each.base))
    yield number(row.other, _median(each.other))


def _median(sample: Sample | None) -> float | None:
    return None if sample is None else sample.median


def _limits(checked: Sequence[Checked]) -> Iterator[Markup]:
    if checked:
        yield tag("h2", "Limits")
        yield tag("ul", *map(_limit, checked), class_="badges limits")


def _limit(each: Checked) -> Markup:
    where = f"{each.place}, {each.other}: {each.reason}"
    outcome = f"{each.limit} {each.outcome}"
    return tag("li", mark(_MARKS[each.outcome]), tag("strong", outcome), tag("span", where))


def _everything(comparison: Comparison) -> Iterator[Markup]:
    for pair in comparison.pairs:
        if all(pair.trials):
            title = f"All metrics of {comparison.other}, {place(pair)}"
            yield tag("details", tag("summary", title), _table(pair.metrics, title))


def _curves(
    folders: Sequence[RunFolder], comparisons: Sequence[Comparison], charts: list[Markup]
) -> Iterator[Markup]:
    """Draw the latencies of comparable trials, all runs in one chart."""
    for title, note, name, drawn in (
        ("Percentiles of the latency", _CURVES, "curves", percentile_charts),
        ("Latency over time", _OVER_TIME, "times", time_charts),
    ):
        found = list(islice(drawn(folders, comparisons), _MOST_CURVES + 1))
        if found:
            cut = f" Only the first {_MOST_CURVES} are drawn." if len(found) > _MOST_CURVES else ""
            yield tag("h2", title)
            yield tag("p", f"{note}{cut}", class_="aside")
        for position, (question, chart) in enumerate(found[:_MOST_CURVES]):
            shown, made = chart_figure(f"{name}{position}", chart, question, "")
            charts.append(made)
            yield shown


def percentile_charts(
    folders: Sequence[RunFolder], comparisons: Sequence[Comparison]
) -> Iterator[tuple[str, alt.TopLevelMixin]]:
    """Yield a chart for each question that several runs answer; latencies are read only then."""
    for question, runs in _comparable(folders, comparisons):
        samples = {
            name: [sample for each in trials if len(sample := measured_seconds(folder, each))]
            for name, (folder, trials) in runs.items()
        }
        known = {name: trials for name, trials in samples.items() if trials}
        if len(known) > 1:
            yield question, curves(known)


def time_charts(
    folders: Sequence[RunFolder], comparisons: Sequence[Comparison]
) -> Iterator[tuple[str, alt.TopLevelMixin]]:
    """Yield the same for the latency over time."""
    for question, runs in _comparable(folders, comparisons):
        medians = {
            name: [
                found
                for each in trials
                if len((found := medians_over_time(folder, each, _PIECES))[0])
            ]
            for name, (folder, trials) in runs.items()
        }
        known = {name: trials for name, trials in medians.items() if trials}
        if len(known) > 1:
            yield question, over_time(known)


def _comparable(
    folders: Sequence[RunFolder], comparisons: Sequence[Comparison]
) -> Iterator[tuple[str, dict[str, tuple[RunFolder, list[TrialResult]]]]]:
    """Yield each question with the trials that count, of every run."""
    runs = {
        name: (folder, {result.spec.number: result for result in folder.trials()})
        for name, folder in zip(_names(comparisons), folders, strict=True)
    }
    for question, sides in _questions(comparisons).items():
        yield (
            question,
            {
                name: (runs[name][0], [runs[name][1][number] for number in numbers])
                for name, numbers in sides.items()
            },
        )


def _names(comparisons: Sequence[Comparison]) -> list[str]:
    return [comparisons[0].base, *(each.other for each in comparisons)]


def _questions(comparisons: Sequence[Comparison]) -> dict[str, dict[str, Sequence[int]]]:
    """Return the trials that count and can be compared, by question and run."""
    found: dict[str, dict[str, Sequence[int]]] = {}
    for comparison in comparisons:
        for pair in comparison.pairs:
            if not pair.obstacles:
                sides = found.setdefault(place(pair), {})
                sides.setdefault(comparison.base, pair.trials[0])
                sides.setdefault(comparison.other, pair.trials[1])
    return found
