"""The parts of a report that are read: verdict, set-up, correctness, what the metrics mean."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from markupsafe import Markup

from streamgauge import metrics
from streamgauge.errors import UsageError
from streamgauge.report import verdict as conclusion
from streamgauge.report.charts.data.trial import label
from streamgauge.report.page import setup
from streamgauge.report.page.markup import join, number, table, tag
from streamgauge.report.page.run_view import MOST_CHARTED, RunView
from streamgauge.report.page.shell import mark, warning
from streamgauge.results.folder import RunRecord
from streamgauge.spec.trial import TrialResult

_EXAMPLES_PER_KIND = 5
_MOST_EXAMPLES = 60
_EXAMPLE_LENGTH = 400
_COUNTS = ("expected", "correct", "wrong", "missing", "duplicate", "unexpected", "intermediate")


def verdict(run: RunView) -> Markup:
    """Say what came out, with everything to know before looking at a chart."""
    record, view = run.record, run.of_experiment
    unreadable = [text for trial in run.views for text in trial.unreadable]
    shown = conclusion.warnings(view, unreadable)
    return tag(
        "header",
        tag("h1", record.spec.subject),
        tag("p", " · ".join([record.id, *_facts_of(record)]), class_="aside"),
        tag("p", conclusion.sentence(view), class_="verdict"),
        tag("ul", *map(_badge, view.badges()), class_="badges"),
        tag("ul", *map(warning, shown), class_="warnings") if shown else Markup(),
        view.trials(run),
    )


def about(record: RunRecord) -> Markup:
    """Say in a line which run it is; its name is above."""
    return tag("p", " · ".join([record.spec.subject, *_facts_of(record)]), class_="aside")


def set_up(run: RunView) -> Markup:
    """Show how the run was set up and how to repeat it."""
    spec = run.record.spec
    preset = f", preset {spec.preset}" if spec.preset else ""
    facts = [
        ("queries", ", ".join(spec.queries)),
        ("experiment", f"{spec.experiment}{preset}"),
        ("services", setup.services(spec)),
        *setup.instances(run.results),
    ]
    blocks = (facts, setup.machine(run.record), setup.versions(run.record))
    rows = setup.differences(spec)
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


def correctness(run: RunView) -> Markup:
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


def definitions(run: RunView) -> Markup:
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


def _badge(badge: conclusion.Badge) -> Markup:
    return tag("li", mark(badge.holds), tag("b", badge.name), tag("span", badge.says))


def _facts_of(record: RunRecord) -> Iterator[str]:
    yield record.started.replace("T", " ").replace("+00:00", " UTC")
    yield record.status
    yield from (f"{key}={value}" for key, value in record.spec.tags.items())


def _command(run: RunView) -> Markup:
    name = f"{run.name}-command"
    return tag(
        "div",
        tag("code", " ".join(run.record.command), id=name),
        tag("button", "Copy", type="button", data_copy=name),
        class_="command",
    )


def _facts(rows: Sequence[tuple[str, str]]) -> Markup:
    return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in rows))


def _engine_settings(results: Sequence[TrialResult]) -> Iterator[Markup]:
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
