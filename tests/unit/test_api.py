import pyarrow as pa
import pytest

import streamgauge
from streamgauge.errors import UsageError
from tests.unit.runs import three_trials, write_run


def test_a_run_opens_as_tables(tmp_path):
    folder = three_trials(tmp_path, 100)
    run = streamgauge.open("@0", runs=tmp_path)
    assert run.name == folder.name
    assert run.path == folder.path
    assert [result.spec.number for result in run.results] == [1, 2, 3]
    for table, rows in ((run.trials, 3), (run.latencies, 6000), (run.timeline, 9)):
        assert isinstance(table, pa.Table)
        assert len(table) == len(table.to_pandas()) == rows
    assert "3 trials" in repr(run)


def test_a_chart_of_the_latency_has_a_line_per_trial(tmp_path):
    three_trials(tmp_path, 100)
    chart = streamgauge.open("@0", runs=tmp_path).chart("latency")
    (rows,) = chart.to_dict()["datasets"].values()
    assert {row["trial"] for row in rows} == {0, 1, 2, 3}


def test_an_unknown_chart_lists_the_known(tmp_path):
    three_trials(tmp_path, 100)
    with pytest.raises(UsageError) as raised:
        streamgauge.open("@0", runs=tmp_path).chart("latencies")
    assert raised.value.remedy is not None
    assert "Did you mean latency?" in raised.value.remedy


def test_a_run_without_latencies_has_no_chart(tmp_path):
    write_run(tmp_path, [])
    with pytest.raises(UsageError, match="has no latencies"):
        streamgauge.open("@0", runs=tmp_path).chart()


def test_runs_compare_by_name_or_as_objects(tmp_path):
    three_trials(tmp_path, 100, tags={"name": "base"})
    three_trials(tmp_path, 130, seed=2, tags={"name": "slow"})
    base = streamgauge.open("base", runs=tmp_path)
    found = streamgauge.compare(base, "slow", runs=tmp_path)
    table = found.table.to_pandas().set_index("metric")
    assert table.loc["latency.p50", "verdict"] == "slower"
    assert table.loc["latency.p50", "low"] > 1.2
    assert found.chart() is not None
    assert "▼ slower" in found._repr_markdown_()
    assert found.pairs[0].query == "q3"
