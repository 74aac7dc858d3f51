import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import streamgauge
from streamgauge import runner
from streamgauge.errors import NotReady, UsageError
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


@pytest.fixture
def started(monkeypatch):
    """What runs are started with; nothing is started."""
    seen = []

    def start(spec, runs, command, *_):
        seen.append((spec, runs, command))
        raise NotReady("nothing is started here")

    monkeypatch.setattr(runner, "start", start)
    return seen


def test_the_call_that_repeats_a_run_has_all_its_options(started):
    with pytest.raises(NotReady):
        streamgauge.run("espbench/q3", rates=["10k/s"], engine="noop", quick=True)
    (_, _, command) = started[0]
    assert " ".join(command) == (
        'python -c "import streamgauge;'
        " streamgauge.run('espbench/q3', rates=['10k/s'], engine='noop', quick=True)\""
    )


@pytest.mark.parametrize(
    "options",
    [
        {"rates": ("1k/s", "2k/s"), "repeats": 3, "duration": "1m", "cores": None},
        {"runs": Path("else where"), "seed": np.int64(7), "rates": np.array([1000, 2000])},
        {"runs": "elsewhere", "tags": {"note": 'it\'s "$HOME"!'}, "load": {"linger": "2ms"}},
        {"parameters": {"warehouses": 4}, "objectives": ("latency.p99<2s",), "keep": True},
    ],
)
def test_the_call_that_repeats_a_run_repeats_it(started, options):
    with pytest.raises(NotReady):
        streamgauge.run("espbench/q1,q3", engine="noop", **options)
    python, flag, code = shlex.split(" ".join(started[0][2]))
    assert (python, flag) == ("python", "-c")
    with pytest.raises(NotReady):
        exec(code, {})
    assert started[1] == started[0]


def test_the_call_that_repeats_a_run_names_no_user(started):
    with pytest.raises(NotReady):
        streamgauge.run("espbench/q5", postgres="postgresql://somebody@db:5433/bench")
    (spec, _, command) = started[0]
    assert spec.accounts == {"postgres": "somebody"}
    assert "somebody" not in " ".join(command)
    assert "postgres='postgresql://db:5433/bench'" in " ".join(command)


def test_the_folder_of_all_runs_is_that_of_the_environment(tmp_path, monkeypatch):
    folder = three_trials(tmp_path, 100)
    monkeypatch.setenv("STREAMGAUGE_RUNS_DIR", str(tmp_path))
    assert streamgauge.open("@0").name == folder.name
