import re
from pathlib import Path

import duckdb
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from streamgauge.errors import UsageError
from streamgauge.results import tables
from tests.unit.runs import START_MS, latency_table, make_trial, three_trials, write_run


def test_trials_have_a_row_each_and_a_column_per_metric(tmp_path):
    folder = write_run(
        tmp_path, [make_trial(1, {"latency.p99": 0.2}), make_trial(2, {"cpu.engine": 0.5})]
    )
    table = tables.trials(folder)
    assert table["trial"].to_pylist() == [1, 2]
    assert table["latency.p99"].to_pylist() == [0.2, None]
    assert table["cpu.engine"].to_pylist() == [None, 0.5]
    assert table["correct"].to_pylist() == [True, True]
    assert table["outputs.correct"].to_pylist() == [120, 120]


def test_latencies_have_a_row_per_output_and_agree_with_the_metrics(tmp_path):
    folder = three_trials(tmp_path, 100)
    table = tables.latencies(folder)
    assert len(table) == 6000
    assert pc.all(table["measured"]).as_py()
    for result in folder.trials():
        own = table.filter(pc.equal(table["trial"], result.spec.number))
        assert pc.max(own["latency"]).as_py() == pytest.approx(result.metrics["latency.max"])
        values = tables.measured_seconds(folder, result)
        assert values.max() == pytest.approx(result.metrics["latency.max"])
    assert table["query"].to_pylist()[0] == "q3"


def test_only_the_measured_span_counts(tmp_path):
    trial = make_trial(measured_ms=(START_MS + 10_000, START_MS + 20_000))
    folder = write_run(tmp_path, [trial], latencies_ms=[[5] * 1000])
    assert pc.sum(tables.latencies(folder)["measured"]).as_py() == 500
    assert len(tables.measured_seconds(folder, folder.trials()[0])) == 500


def test_windows_count_whole_and_from_their_end(tmp_path):
    folder = write_run(tmp_path, [make_trial(window_ms=1000)], latencies_ms=[[5] * 20])
    file = folder.trial_folder(1) / "latency.parquet"
    table = latency_table([50] * 20)
    ends = [START_MS + 500 + 1000 * number for number in range(20)]
    pq.write_table(table.set_column(4, "window_end", [ends]), file)
    assert pc.sum(tables.latencies(folder)["measured"]).as_py() == 19
    values = tables.measured_seconds(folder, folder.trials()[0])
    assert len(values) == 19


def test_the_timeline_names_its_trial(tmp_path):
    table = tables.timeline(three_trials(tmp_path, 100))
    assert table["trial"].to_pylist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert table["cpu.engine"].to_pylist()[:3] == [0.5, 0.6, 0.7]


def test_a_run_without_trials_has_empty_tables(tmp_path):
    folder = write_run(tmp_path, [])
    for read in (tables.trials, tables.latencies, tables.timeline):
        assert len(read(folder)) == 0


def test_a_truncated_table_is_named(tmp_path):
    folder = three_trials(tmp_path, 100)
    file = folder.trial_folder(2) / "latency.parquet"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(UsageError, match=r"002/latency\.parquet is not a readable table"):
        tables.latencies(folder)


def test_the_question_of_the_docs_to_all_runs_at_once_is_answered(tmp_path, monkeypatch):
    docs = Path(__file__).parents[3] / "docs"
    (question,) = re.findall(r"```sql\n(.*?)```", (docs / "reports.md").read_text(), re.S)
    folders = [three_trials(tmp_path / "runs", median_ms) for median_ms in (100, 200)]
    monkeypatch.chdir(tmp_path)
    rows = duckdb.sql(question).fetchall()
    assert [count for _, count, _ in rows] == [2000] * 6
    for file, _, p99_ms in rows:
        (metrics,) = (
            folder.trials()[int(Path(file).parent.name) - 1].metrics
            for folder in folders
            if folder.name in file
        )
        assert p99_ms == pytest.approx(metrics["latency.p99"] * 1000)
