import html
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from markupsafe import escape
from rich.console import Console
from tests import simulated
from tests.unit.report.search.test_terminal import ENGINE, SPEC
from tests.unit.runs import make_trial, three_trials, write_run

from streamgauge.comparison.charts import forest
from streamgauge.comparison.compare import Comparison
from streamgauge.comparison.limits import check_limits, parse_limit
from streamgauge.comparison.markdown import markdown
from streamgauge.comparison.objects import as_json
from streamgauge.comparison.page import html as write_html
from streamgauge.comparison.page import percentile_charts, time_charts
from streamgauge.comparison.runs import compare_runs
from streamgauge.comparison.terminal import render
from streamgauge.report.page.sweep import write_sweep
from streamgauge.results.folder import RunFolder
from streamgauge.results.tables import medians_over_time

ATTACK = "<script>alert('x')</script>|`*"


def compared(*folders: RunFolder) -> list[Comparison]:
    return compare_runs(*folders)


def in_terminal(comparisons: list[Comparison], *rest: object) -> str:
    console = Console(file=io.StringIO(), width=110)
    console.print(render(comparisons, *rest))  # type: ignore[arg-type]  # passed on
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def without_scripts(page: str) -> str:
    return re.sub(r"<script.*?</script>", "", page, flags=re.S)


def rows_of(chart: object) -> list[dict[str, Any]]:
    """Return all rows that a chart carries."""
    assert isinstance(chart, alt.TopLevelMixin)
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


@pytest.fixture
def slower(tmp_path: Path) -> list[RunFolder]:
    return [three_trials(tmp_path, 100), three_trials(tmp_path, 130, seed=2, tags={"b": ATTACK})]


def test_two_searches_are_compared_in_every_form(tmp_path: Path) -> None:
    one, two = (
        simulated.write_search(tmp_path, SPEC, simulated.simulate(replace(ENGINE, capacity=limit)))
        for limit in (1500.0, 3000.0)
    )
    comparisons = compared(one, two)
    (found,) = as_json(comparisons)["comparisons"][0]["sustained"]  # type: ignore[index,call-overload]
    assert found["verdict"] == "higher"
    for text in (
        in_terminal(comparisons),
        markdown(comparisons),
        html.unescape(write_html([one, two], comparisons)),
    ):
        assert re.search(r"q3 sustains: .* higher, [12]\.\d+ times as much", " ".join(text.split()))


def test_the_terminal_tells_ratio_interval_and_verdict(slower):
    text = in_terminal(compared(*slower))
    (line,) = [line for line in text.splitlines() if line.startswith(" latency.p50")]
    assert re.search(r"99 ms \(98–100\) +130 ms .* 1\.3\d +1\.2\d–1\.3\d +▼ slower", line)


def test_limits_are_told_with_their_reason(slower):
    comparisons = compared(*slower)
    checked = check_limits([parse_limit("latency.p99:+5%")], comparisons)
    for text in (in_terminal(comparisons, checked), markdown(comparisons, checked)):
        assert "exceeded" in text
        assert "the ratio is 1." in text


def test_not_comparable_says_why_and_draws_nothing(tmp_path):
    folders = [three_trials(tmp_path, 100), three_trials(tmp_path, 100, machine={"host": "b"})]
    comparisons = compared(*folders)
    why = "not comparable, because the machine's host differs (bench, b)"
    page = html.unescape(write_html(folders, comparisons))
    for text in (in_terminal(comparisons), markdown(comparisons), page):
        assert why in text
    assert forest(comparisons[0]) is None
    assert "data-spec=" not in page
    assert page.count("<script>") == 1  # sorts tables; the library of charts is left out


def test_of_a_query_that_one_side_lacks_only_that_is_told(tmp_path):
    folders = [three_trials(tmp_path, 100), write_run(tmp_path, [make_trial(query="q1")])]
    text = in_terminal(compared(*folders))
    assert text.count("has no finished trial of") == 2
    assert "latency" not in text


def test_markdown_is_a_table_in_which_names_are_text(slower):
    text = markdown(compared(*slower))
    assert "| metric | base | other | ratio | 95 % interval | verdict |" in text
    assert "▼ slower" in text
    assert "<script>" not in text
    assert "\\<script\\>alert('x')\\</script\\>\\|\\`\\*" in text
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line[:1] == "|"}
    assert widths == {7}


def test_json_has_all_metrics_and_no_infinity(tmp_path):
    trials = [make_trial(n, {"latency.p50": 0.0, "cpu.engine": 0.5}) for n in (1, 2, 3)]
    folders = [write_run(tmp_path, trials), write_run(tmp_path, trials)]
    text = json.dumps(as_json(compared(*folders)), allow_nan=False)
    (pair,) = json.loads(text)["comparisons"][0]["pairs"]
    found = {each["metric"]: each for each in pair["metrics"]}
    assert pair["comparable"]
    assert found["latency.p50"]["high"] is None
    assert found["latency.p50"]["verdict"] == "no difference"
    assert found["cpu.engine"]["base"] == {"median": 0.5, "low": 0.5, "high": 0.5, "trials": 3}


def test_a_page_needs_no_network_and_escapes_what_it_shows(slower):
    page = write_html(slower, compared(*slower))
    assert ATTACK not in page
    assert escape(f"tag b: none → {ATTACK}") in page
    assert "http" not in without_scripts(page).replace("http-equiv", "")
    assert not re.search(r"<(link|img|iframe|script[^>]+src=)", without_scripts(page))
    specs = re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', page, re.S)
    assert [name for name, _ in specs] == ["forest0", "curves0", "times0"]
    assert all(json.loads(text)["width"] == "container" for _, text in specs)
    assert {f'data-spec="{name}"' in page for name, _ in specs} == {True}


def test_names_cannot_end_the_data_of_a_chart(tmp_path):
    folders = []
    for median in (100, 130):
        folder = three_trials(tmp_path, median)
        record = folder.record()
        folder.write(record.model_copy(update={"id": f"</script><b>{median}"}))
        folders.append(folder)
    page = write_html(folders, compared(*folders))
    assert "</script><b>" not in page


def test_the_forest_holds_each_interval(slower):
    bars = rows_of(forest(compared(*slower)[0]))
    p50 = next(bar for bar in bars if bar.get("metric") == "latency.p50")
    assert 1 < p50["low"] <= p50["value"] <= p50["high"]
    assert p50["verdict"] == "worse"


def test_the_curves_show_each_trial_and_all_together(slower):
    ((question, chart),) = percentile_charts(slower, compared(*slower))
    assert question == "espbench/q3 at 1k/s"
    rows = rows_of(chart)
    assert len({(row["run"], row["trial"]) for row in rows}) == 8
    assert max(row["nines"] for row in rows) == pytest.approx(3.778, abs=0.001)


def test_latency_over_time_has_a_line_for_each_trial_of_each_run(slower):
    ((question, chart),) = time_charts(slower, compared(*slower))
    assert question == "espbench/q3 at 1k/s"
    rows = rows_of(chart)
    assert len({(row["run"], row["trial"]) for row in rows}) == 6
    assert {row["s"] for row in rows} == {round((place + 0.5) * 0.2, 2) for place in range(100)}


def test_medians_over_time_are_those_of_the_outputs_due_then(tmp_path):
    values = [1] * 500 + [7] * 499 + [9]
    folder = write_run(tmp_path, [make_trial(1)], latencies_ms=[values])
    at_s, medians_s = medians_over_time(folder, folder.trials()[0], 2)
    assert at_s.tolist() == [5.0, 15.0]
    assert medians_s.tolist() == [0.001, 0.007]


def test_a_run_compared_with_itself_says_so(tmp_path):
    folder = three_trials(tmp_path, 100)
    comparisons = compared(folder, folder)
    text = in_terminal(comparisons)
    assert "both sides are the same run" in text
    assert "slower" not in text
    assert "faster" not in text
    assert write_html([folder, folder], comparisons)


def test_runs_without_a_finished_trial_have_nothing_to_compare(tmp_path):
    folders = [write_run(tmp_path, []), write_run(tmp_path, [])]
    comparisons = compared(*folders)
    page = write_html(folders, comparisons)
    for text in (in_terminal(comparisons), markdown(comparisons), page):
        assert "no trial has finished" in text


def test_a_sweep_is_a_page_with_a_chart_and_a_table_per_machine(tmp_path):
    trials = [
        make_trial(number, {"latency.p99": rate / 1e5}, rate=rate, engine_options={"x": ATTACK})
        for number, rate in enumerate((1000.0, 5000.0, 20_000.0), start=1)
    ]
    folders = [write_run(tmp_path / "runs", trials, machine={"host": host}) for host in "ab"]
    write_sweep(folders, "latency.p99", "rate", tmp_path / "sweep.html")
    page = without_scripts((tmp_path / "sweep.html").read_text())
    assert page.count("<h2>") == page.count("<table ") == page.count("data-spec=") == 2
    assert ATTACK not in page
    cells = re.findall(r'<td class="number" data-value="[\d.]+">([^<]+)</td>', page)
    assert cells[-5:] == ["20k/s", "200 ms", "200 ms", "200 ms", "1"]


@pytest.mark.parametrize("factor", ["mode", "engine", "date", "cores", "partitions"])
def test_every_factor_can_be_drawn(tmp_path, factor):
    folder = write_run(tmp_path, [make_trial(1), make_trial(2, mode="microbatch")])
    write_sweep([folder], "latency.p99", factor, tmp_path / "sweep.html")
    assert f"latency.p99 over {factor}" in (tmp_path / "sweep.html").read_text()
