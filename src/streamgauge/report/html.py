"""report.html: a run, or several, as one page to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge import metrics
from streamgauge.errors import NotReady, UsageError
from streamgauge.files import write_atomically
from streamgauge.report import charts, setting, verdict
from streamgauge.report.latencies import Histogram, nines, pooled
from streamgauge.report.markup import Html, data, join, number, table, tag
from streamgauge.report.page import make_page, mark
from streamgauge.report.trial import TrialView, label, view_trial
from streamgauge.results.folder import RunFolder, RunRecord
from streamgauge.spec.contracts import Json
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_count, format_duration, format_rate

MOST_CHARTED = 30
"""Trials of a page that get charts; more would make it slow to open."""
MOST_SINGLES = 2000
_SINGLES_OF_PAGE = 30_000
_EXAMPLES_PER_KIND = 5
_MOST_EXAMPLES = 60
_EXAMPLE_LENGTH = 400
_RATES = ("input", "output", "lag", "behind")
_LATENCIES = ("latency", "singles", "event_latency", "window_latency")
_CLOCK_S = 0.001


def write_report(folder: RunFolder) -> Path:
    """Write report.html into a run's folder."""
    file = folder.path / "report.html"
    write_page([folder], file)
    return file


def write_page(folders: Sequence[RunFolder], file: Path) -> None:
    """Write a page of one or several runs."""
    text = report_page(folders)
    try:
        write_atomically(file, text)
    except OSError as error:
        raise NotReady(
            f"cannot write {file}: {error.strerror}", "choose another place or make room"
        ) from None


def report_page(folders: Sequence[RunFolder]) -> str:
    """Return the page of one or several runs."""
    most = max(1, MOST_CHARTED // max(1, len(folders)))
    runs = [_Run(folder, f"run-{place}", most) for place, folder in enumerate(folders)]
    title = ", ".join(run.record.id for run in runs)
    common: dict[str, Json] = {
        "palette": charts.palette(),
        "charts": {
            chart.name: {"spec": chart.spec(), "unit": chart.unit, "shape": chart.shape}
            for chart in charts.TIME_CHARTS
        },
        "distribution": charts.distribution(),
    }
    blocks = [data("page", common), *(block for run in runs for block in run.data())]
    return make_page(title, [run.html() for run in runs], data=blocks)


class _Run:
    """One run of the page."""

    def __init__(self, folder: RunFolder, name: str, most_charted: int) -> None:
        self.folder, self.name = folder, name
        self.record: RunRecord = folder.record()
        self.results = folder.trials()
        charted = self.results[:most_charted]
        singles = min(MOST_SINGLES, _SINGLES_OF_PAGE // max(1, len(charted)))
        self.views = [view_trial(folder, result, singles) for result in charted]

    def html(self) -> Html:
        return tag(
            "article",
            self._verdict(),
            self._setup(),
            self._charts(),
            self._correctness(),
            self._definitions(),
            class_="run",
            id=self.name,
        )

    def data(self) -> Iterator[Html]:
        """Yield what the script draws: the run's distribution, then one block per trial."""
        yield data(f"{self.name}-distribution", _distribution(self.views))
        cores = self.record.machine.get("cores")
        for view in self.views:
            name = f"{self.name}-trial-{view.result.spec.number}"
            yield data(name, view.data(float(cores) if isinstance(cores, int) else None))

    def _verdict(self) -> Html:
        record, results = self.record, self.results
        spec = record.spec
        facts = [record.id, record.started.replace("T", " ").replace("+00:00", " UTC")]
        facts += [record.status, *(f"{key}={value}" for key, value in spec.tags.items())]
        unreadable = [text for view in self.views for text in view.unreadable]
        told = verdict.warnings(self.folder, record, results, unreadable)
        return tag(
            "header",
            tag("h1", f"{spec.workload} on {spec.engine}"),
            tag("p", " · ".join(facts), class_="aside"),
            tag("p", verdict.sentence(record, results), class_="verdict"),
            tag("ul", *map(_badge, verdict.badges(record, results)), class_="badges"),
            tag("ul", *map(_warning, told), class_="warnings") if told else Html(),
            _trials_table(self.name, results, {view.result.spec.number for view in self.views}),
        )

    def _setup(self) -> Html:
        record = self.record
        spec = record.spec
        facts = [
            ("queries", ", ".join(spec.queries)),
            ("experiment", f"{spec.experiment}{f', preset {spec.preset}' if spec.preset else ''}"),
            ("services", setting.services(spec)),
        ]
        differs = setting.differences(spec)
        return tag(
            "section",
            tag("h2", "Set-up"),
            _command(self.name, record.command),
            tag("div", _facts(facts), _facts(setting.machine(record)), class_="columns"),
            table(
                ["setting", "value", "default", "from"],
                differs,
                caption="What differs from the defaults",
            )
            if differs
            else tag("p", "Everything else has its default.", class_="aside"),
            *_engine_settings(self.results),
        )

    def _charts(self) -> Html:
        if not self.views:
            return Html()
        left = len(self.results) - len(self.views)
        cut = f"The first {len(self.views)} trials have charts; {left:,} more have none."
        return tag(
            "div",
            _picker(self.name, self.views),
            tag("p", cut, class_="aside") if left else Html(),
            tag("section", tag("h2", "Rates and lag"), *map(_figure, _named(_RATES))),
            tag(
                "section",
                tag("h2", "Latency over time"),
                tag("p", _HOW_TO_READ, class_="aside"),
                *map(_figure, _named(_LATENCIES)),
            ),
            tag("section", tag("h2", "Latency distribution"), _distribution_figure(self.views)),
            tag(
                "section",
                tag("h2", "Resources"),
                *(_figure(c) for c in charts.TIME_CHARTS if c.name not in _RATES + _LATENCIES),
            ),
            class_="charts",
            data_run=self.name,
        )

    def _correctness(self) -> Html:
        names = ("expected", "correct", "wrong", "missing", "duplicate", "unexpected")
        rows = [
            [
                label(result),
                *(number(f"{n:,}", n) for n in (getattr(result.counts, name) for name in names)),
                result.correct.reason,
            ]
            for result in self.results
        ]
        examples = [row for result in self.results for row in self._examples(result)]
        shown = examples[:_MOST_EXAMPLES]
        return tag(
            "section",
            tag("h2", "Correctness"),
            table(["trial", *names, "in words"], rows, caption="Outputs compared with answers"),
            table(
                ["trial", "kind", "key", "expected", "got"],
                shown,
                caption=f"First examples of errors, {len(shown)} of {len(examples)}",
                class_="examples",
            )
            if shown
            else tag("p", "No error was found, so there are no examples.", class_="aside"),
        )

    def _examples(self, result: TrialResult) -> Iterator[list[str]]:
        file = self.folder.trial_folder(result.spec.number) / "validation" / "examples.parquet"
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

    def _definitions(self) -> Html:
        names = sorted({name for result in self.results for name in result.metrics})
        rows = [_definition(name, self.results) for name in names]
        rest = [each for each in metrics.declared() if not _is_among(each.name, names)]
        rows += [[tag("code", m.name), number("–", None), m.better, m.meaning] for m in rest]
        return tag(
            "section",
            tag("h2", "What the metrics mean"),
            tag(
                "details",
                tag("summary", f"{len(rows)} metrics, with their range over all trials"),
                table(["metric", "in this run", "better", "meaning"], rows, caption="All metrics"),
            ),
        )


_HOW_TO_READ = (
    "Time is in seconds from the start of the measured span; what is shaded lies outside it:"
    " the warm-up before, run-on and drain after. Drag across a chart to zoom all of them, double"
    " click to see all again; with the keyboard: arrows, +, − and 0."
)


def _badge(badge: verdict.Badge) -> Html:
    return tag("li", mark(badge.holds), tag("b", badge.name), tag("span", badge.says))


def _warning(text: str) -> Html:
    shape = Html('<svg class="mark warn" role="img" aria-label="warning"><use href="#warn"/></svg>')
    return tag("li", shape, tag("span", text))


def _trials_table(name: str, results: Sequence[TrialResult], charted: set[int]) -> Html:
    header = ["#", "query", "rate", "mode", "valid", "correct", "kept up"]
    header += ["p50", "p90", "p99", "max", "outputs", "engine CPU"]
    rows = []
    for result in results:
        spec, found = result.spec, result.metrics
        row: list[str] = [number(str(spec.number), spec.number)]
        query = spec.query if spec.repeat == 1 else f"{spec.query} ({spec.repeat})"
        if spec.number in charted:
            query = tag("a", query, href=f"#{name}-charts", data_trial=str(spec.number))
        row += [query, number(format_rate(spec.rate), spec.rate), spec.mode or "–"]
        row += [_verdict_cell(v.holds) for v in (result.valid, result.correct, result.kept_up)]
        row += [_latency(found.get(f"latency.{q}")) for q in ("p50", "p90", "p99", "max")]
        row.append(number(format_count(result.counts.outputs), result.counts.outputs))
        cpu = found.get("cpu.engine")
        row.append(number("–" if cpu is None else f"{cpu:.2f}", cpu))
        rows.append(row)
    return table(header, rows, caption="Trials; latency in the measured span", class_="trials")


def _verdict_cell(holds: bool | None) -> Html:
    order = {True: "2", None: "1", False: "0"}
    return tag("td", mark(holds), class_="verdict-cell", data_value=order[holds])


def _latency(value_s: float | None) -> Html:
    if value_s is None:
        return number("–", None)
    shown = "< 1 ms" if 0 <= value_s < _CLOCK_S else format_duration(value_s)
    return number(shown, value_s)


def _command(name: str, command: Sequence[str]) -> Html:
    return tag(
        "div",
        tag("code", " ".join(command), id=f"{name}-command"),
        tag("button", "Copy", type="button", data_copy=f"{name}-command"),
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


def _picker(name: str, views: Sequence[TrialView]) -> Html:
    """Make the row that stays in sight: which trial is shown, and the zoom."""
    choices = [
        tag(
            "label",
            tag(
                "input",
                type="radio",
                name=f"{name}-trial",
                value=str(view.result.spec.number),
                checked=place == 0,
            ),
            tag("span", label(view.result)),
        )
        for place, view in enumerate(views)
    ]
    buttons = [
        tag("button", text, type="button", data_zoom=act, title=title, aria_label=title)
        for text, act, title in (
            ("−", "out", "Zoom out"),
            ("+", "in", "Zoom in"),
            ("All", "all", "Show the whole trial"),
        )
    ]
    return tag(
        "nav",
        tag("fieldset", tag("legend", "Trial"), *choices),
        tag("output", "", class_="cursor", aria_live="polite"),
        tag("div", *buttons, class_="zoom"),
        class_="picker",
        id=f"{name}-charts",
        aria_label="Trial and zoom",
    )


def _named(names: Sequence[str]) -> list[charts.Chart]:
    return [chart for chart in charts.TIME_CHARTS if chart.name in names]


def _figure(chart: charts.Chart) -> Html:
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("h3", chart.title),
            tag("p", tag("span", chart.note), " ", tag("span", "", class_="said"), class_="aside"),
            tag("ul", class_="legend"),
        ),
        tag("div", class_="chart", tabindex="0", role="img", aria_label=chart.title),
        data_chart=chart.name,
        hidden=True,
    )


def _distribution_figure(views: Sequence[TrialView]) -> Html:
    note = (
        "Of all outputs of the measured span, the share on the axis took at most the time shown."
        " Each further nine has the same room; a line ends where its sample does."
    )
    if any(view.result.spec.repeat > 1 for view in views):
        note += " Thin: a trial; bold: all repeats of it together."
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("h3", "Percentiles of latency"),
            tag("p", note, class_="aside"),
            tag("ul", class_="legend"),
        ),
        tag("div", class_="chart", tabindex="0", role="img", aria_label="Percentiles of latency"),
        class_="distribution",
        hidden=True,
    )


def _distribution(views: Sequence[TrialView]) -> Json:
    """Return a line per trial, and where a trial was repeated a bold one of all its repeats."""
    groups: dict[str, list[Histogram]] = {}
    for view in views:
        if view.histogram is not None and view.histogram.total:
            spec = view.result.spec
            group = f"{spec.query} at {format_rate(spec.rate)}"
            groups.setdefault(group, []).append(view.histogram)
    lines: list[Json] = []
    for place, (group, histograms) in enumerate(groups.items()):
        several = len(histograms) > 1
        for histogram in histograms if several else []:
            lines.append(_line(group, place, histogram, bold=False))
        lines.append(_line(group, place, pooled(histograms), bold=True))
    return lines


def _line(group: str, place: int, histogram: Histogram, *, bold: bool) -> Json:
    at, took = nines(histogram)
    return {"name": group, "place": place, "bold": bold, "t": [*at], "v": [*took]}


def _definition(name: str, results: Sequence[TrialResult]) -> list[str]:
    values = [result.metrics[name] for result in results if name in result.metrics]
    try:
        known = metrics.metric(name)
    except UsageError:  # of a newer version
        return [tag("code", name), number(f"{min(values):g}", min(values)), "", "not known here"]
    low, high = known.format(min(values)), known.format(max(values))
    shown = low if low == high else f"{low} – {high}"
    better = "" if known.better == "none" else known.better
    return [tag("code", name), number(shown, max(values)), better, known.meaning]


def _is_among(declared: str, names: Sequence[str]) -> bool:
    family = declared.partition("<")[0]
    return any(name == declared or ("<" in declared and name.startswith(family)) for name in names)


def _text(value: bytes | None) -> str:
    if value is None:
        return "–"
    text = value.decode("utf-8", "replace")
    return text if len(text) <= _EXAMPLE_LENGTH else f"{text[:_EXAMPLE_LENGTH]} …"
