"""The parts of a report that are read: verdict, set-up, correctness, what the metrics mean."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge import metrics
from streamgauge.errors import UsageError
from streamgauge.report import setting
from streamgauge.report import verdict as conclusion
from streamgauge.report.markup import Html, join, number, table, tag
from streamgauge.report.page import mark, warning
from streamgauge.report.run import MOST_CHARTED, RunView
from streamgauge.report.searches import latency_trials, searches
from streamgauge.report.study_tables import StudyTable, study_table
from streamgauge.report.trial import label
from streamgauge.results.factors import differing
from streamgauge.results.folder import RunRecord
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_count, format_duration, format_rate

_EXAMPLES_PER_KIND = 5
_MOST_EXAMPLES = 60
_EXAMPLE_LENGTH = 400
_CLOCK_S = 0.001
_LONG = 1_000_000
_COUNTS = ("expected", "correct", "wrong", "missing", "duplicate", "unexpected")


def verdict(run: RunView) -> Html:
    """Say what came out, with everything that must be known before a chart is looked at."""
    record, results = run.record, run.results
    spec = record.spec
    unreadable = [text for view in run.views for text in view.unreadable]
    told = conclusion.warnings(run.folder, record, results, unreadable)
    return tag(
        "header",
        tag("h1", f"{spec.workload} on {spec.engine}"),
        tag("p", " · ".join([record.id, *_facts_of(record)]), class_="aside"),
        tag("p", conclusion.sentence(record, results), class_="verdict"),
        tag("ul", *map(_badge, conclusion.badges(record, results)), class_="badges"),
        tag("ul", *map(warning, told), class_="warnings") if told else Html(),
        _trials(run),
    )


def about(record: RunRecord) -> Html:
    """Say in a line which run it is, where its name stands above."""
    what = f"{record.spec.workload} on {record.spec.engine}"
    return tag("p", " · ".join([what, *_facts_of(record)]), class_="aside")


def set_up(run: RunView) -> Html:
    """Show how the run was set up and how to repeat it."""
    spec = run.record.spec
    preset = f", preset {spec.preset}" if spec.preset else ""
    facts = [
        ("queries", ", ".join(spec.queries)),
        ("experiment", f"{spec.experiment}{preset}"),
        ("services", setting.services(spec)),
    ]
    blocks = (facts, setting.machine(run.record), setting.versions(run.record))
    rows = setting.differences(spec)
    differs = (
        table(["setting", "value", "default", "from"], rows, caption="Differs from the defaults")
        if rows
        else tag("p", "Nothing else differs from the defaults.", class_="aside")
    )
    return tag(
        "section",
        tag("h2", "Set-up"),
        _command(run),
        tag("div", *map(_facts, blocks), class_="columns"),
        differs,
        *_engine_settings(run.results),
    )


def correctness(run: RunView) -> Html:
    """Show how outputs and answers compare, and the first errors with both sides."""
    rows = [
        [
            label(result),
            *(number(f"{n:,}", n) for n in (getattr(result.counts, name) for name in _COUNTS)),
            result.correct.reason,
        ]
        for result in run.results
    ]
    examples = [row for result in run.results for row in _examples(run, result)]
    shown = examples[:_MOST_EXAMPLES]
    caption = f"First examples of errors: {len(shown)} of {len(examples)} kept"
    sides = (
        table(
            ["trial", "kind", "key", "expected", "got"], shown, caption=caption, class_="examples"
        )
        if shown
        else tag("p", "There are no examples of errors.", class_="aside")
    )
    counts = table(["trial", *_COUNTS, "in words"], rows, caption="Outputs and answers")
    return tag("section", tag("h2", "Correctness"), counts, sides)


def definitions(run: RunView) -> Html:
    """Say what every metric means, with its range over the trials of the run."""
    names = sorted({name for result in run.results for name in result.metrics})
    rows = [_definition(name, run.results) for name in names]
    rest = [each for each in metrics.declared() if not _is_among(each.name, names)]
    rows += [[tag("code", m.name), number("–", None), _better(m), m.meaning] for m in rest]
    return tag(
        "section",
        tag("h2", "What the metrics mean"),
        tag(
            "details",
            tag("summary", f"{len(rows)} metrics, with their range over all trials"),
            table(["metric", "in this run", "better", "meaning"], rows, caption="All metrics"),
            class_="on-paper",
        ),
    )


def link_to_charts(run: RunView, trial: int, text: str) -> str:
    """Let a text lead to the charts of a trial, where it has some."""
    if all(view.result.spec.number != trial for view in run.views):
        return text
    return tag("a", text, href=f"#{run.name}-charts", data_trial=str(trial))


def latency_cell(value_s: float | None) -> Html:
    """Write a latency as far as the broker's clock tells it, which counts milliseconds."""
    if value_s is None:
        return number("–", None)
    shown = "< 1 ms" if 0 <= value_s < _CLOCK_S else format_duration(value_s)
    return number(shown, value_s)


def _badge(badge: conclusion.Badge) -> Html:
    return tag("li", mark(badge.holds), tag("b", badge.name), tag("span", badge.says))


def _trials(run: RunView) -> Html:
    """Make the table of the trials; of a search, which shows them all, those told by latency."""
    if study := study_table(run.record.spec.experiment, run.results):
        return _study(study)
    shown, family, caption = run.results, "latency", "Trials; latency in the measured span"
    if found := searches(run.record.answer):
        told = {trial for search in found for trial in latency_trials(search)}
        shown = [result for result in run.results if result.spec.number in told]
        family = "event_latency"  # by which a search decides
        what = "The rate that was found, and what followed"
        caption = f"{what}; event-time latency in the measured span"
    # The mode last: a phone shows the verdicts without scrolling.
    varied = differing([result.spec for result in shown])
    header = ["#", "query", "rate", *varied, "valid", "correct", "kept up"]
    header += ["p50", "p90", "p99", "max", "outputs", "engine CPU", "mode"]
    rows = [[*_trial(run, result, family, varied)] for result in shown]
    return table(header, rows, caption=caption, class_="trials") if rows else Html()


def _study(study: StudyTable) -> Html:
    rows = [[number(cell.text, cell.value) for cell in row] for row in study.rows]
    caption = f"Trials; {study.same}" if study.same else "Trials"
    return table(study.header, rows, caption=caption, class_="trials") if rows else Html()


def _trial(run: RunView, result: TrialResult, family: str, varied: Sequence[str]) -> Iterator[str]:
    spec, found = result.spec, result.metrics
    query = spec.query if spec.repeat == 1 else f"{spec.query} ({spec.repeat})"
    yield number(str(spec.number), spec.number)
    yield link_to_charts(run, spec.number, query)
    yield number(format_rate(spec.rate), spec.rate)
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


def _count(outputs: int) -> Html:
    """Write a number in full as long as it is short."""
    return number(f"{outputs:,}" if outputs < _LONG else format_count(outputs), outputs)


def _facts_of(record: RunRecord) -> Iterator[str]:
    yield record.started.replace("T", " ").replace("+00:00", " UTC")
    yield record.status
    yield from (f"{key}={value}" for key, value in record.spec.tags.items())


def _command(run: RunView) -> Html:
    name = f"{run.name}-command"
    return tag(
        "div",
        tag("code", " ".join(run.record.command), id=name),
        tag("button", "Copy", type="button", data_copy=name),
        class_="command",
    )


def _facts(rows: Sequence[tuple[str, str]]) -> Html:
    return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in rows))


def _engine_settings(results: Sequence[TrialResult]) -> Iterator[Html]:
    """Yield the engine's settings in force, once for all trials that share them."""
    grouped: dict[str, list[TrialResult]] = {}
    for result in results:
        if result.settings:
            grouped.setdefault(json.dumps(result.settings, sort_keys=True), []).append(result)
    for group in list(grouped.values())[:MOST_CHARTED]:
        names = ", ".join(dict.fromkeys(result.spec.query for result in group))
        yield tag(
            "details",
            tag("summary", f"Settings of the engine in force: {names}"),
            table(["setting", "value"], group[0].settings.items(), caption=f"Settings: {names}"),
        )


def _examples(run: RunView, result: TrialResult) -> Iterator[list[str]]:
    file = run.folder.trial_folder(result.spec.number) / "validation" / "examples.parquet"
    if not file.exists():
        return
    try:
        rows = pq.read_table(file).to_pylist()
    except (pa.ArrowException, OSError):
        yield [label(result), "–", "–", "the examples cannot be read", "–"]
        return
    seen: dict[str, int] = {}
    for row in rows:
        kind = str(row["kind"])
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= _EXAMPLES_PER_KIND:
            sides = [tag("code", _text(row[side])) for side in ("expected", "got")]
            yield [label(result), kind, str(row["key"]), *sides]


def _text(value: bytes | None) -> str:
    if value is None:
        return "–"
    text = value.decode("utf-8", "replace")
    return text if len(text) <= _EXAMPLE_LENGTH else f"{text[:_EXAMPLE_LENGTH]} …"


def _definition(name: str, results: Sequence[TrialResult]) -> list[str]:
    values = [result.metrics[name] for result in results if name in result.metrics]
    try:
        known = metrics.metric(name)
    except UsageError:  # written by another version
        return [tag("code", name), number(f"{max(values):g}", max(values)), "", "not known here"]
    low, high = known.format(min(values)), known.format(max(values))
    shown = low if low == high else f"{low} – {high}"
    return [tag("code", name), number(shown, max(values)), _better(known), known.meaning]


def _better(metric: metrics.Metric) -> str:
    return "" if metric.better == "none" else metric.better


def _is_among(declared: str, names: Sequence[str]) -> bool:
    family = declared.partition("<")[0]
    return any(name == declared or ("<" in declared and name.startswith(family)) for name in names)
