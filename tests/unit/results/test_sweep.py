import json

import pytest

from streamgauge.errors import UsageError
from streamgauge.results.sweep import sweep
from tests.unit.runs import NO, make_trial, started, write_run


def test_a_sweep_gives_median_and_range_of_each_rate(tmp_path):
    trials = [
        make_trial(number, {"latency.p99": value}, rate=rate)
        for number, (rate, value) in enumerate(
            [(1e3, 0.1), (1e3, 0.3), (1e3, 0.2), (1e4, 0.9)], start=1
        )
    ]
    low, high = sweep([write_run(tmp_path, trials)], "latency.p99", "rate")
    assert (low.factor, low.median, low.low, low.high, low.trials) == (1e3, 0.2, 0.1, 0.3, 3)
    assert (high.factor, high.median, high.trials) == (1e4, 0.9, 1)
    assert low.series == high.series == "espbench/q3"
    assert low.machine == "bench · a fast one · 2 cores"


def test_machines_and_whatever_else_differs_stay_apart(tmp_path):
    one = write_run(tmp_path, [make_trial()])
    two = write_run(tmp_path, [make_trial()], machine={"host": "other"})
    three = write_run(tmp_path, [make_trial(mode="microbatch")])
    four = write_run(tmp_path, [make_trial(engine_options={"trigger": "1s"})])
    points = sweep([one, two, three, four], "latency.p99", "rate")
    assert [(point.machine.partition(" ")[0], point.series) for point in points] == [
        ("bench", "espbench/q3 · realtime"),
        ("other", "espbench/q3 · realtime"),
        ("bench", "espbench/q3 · microbatch"),
        ("bench", "espbench/q3 · realtime · trigger=1s"),
    ]
    over_mode = sweep([one, three], "latency.p99", "mode")
    assert [point.factor for point in over_mode] == ["realtime", "microbatch"]
    assert {point.series for point in over_mode} == {"espbench/q3"}


def test_ways_to_send_make_lines_of_their_own(tmp_path):
    trials = [make_trial(1, load={"batch": 16_384}), make_trial(2, load={"batch": 65_536})]
    points = sweep([write_run(tmp_path, trials)], "latency.p99", "rate")
    assert [point.series for point in points] == [
        "espbench/q3 · batch=16384",
        "espbench/q3 · batch=65536",
    ]


def test_parameters_of_the_workload_make_lines_of_their_own(tmp_path):
    trials = [
        make_trial(1, parameters={"keys": "normal"}),
        make_trial(2, parameters={"keys": "single"}),
    ]
    points = sweep([write_run(tmp_path, trials)], "latency.p99", "rate")
    assert [point.series for point in points] == [
        "espbench/q3 · keys=normal",
        "espbench/q3 · keys=single",
    ]


@pytest.mark.parametrize(
    ("factor", "value"),
    [
        ("partitions", 1),
        ("transport", "kafka"),
        ("cores", 2),
        ("engine", "spark"),
        ("date", "2026-11-16T10:00:00+00:00"),
    ],
)
def test_any_factor_can_be_swept(tmp_path, factor, value):
    run = started(write_run(tmp_path, [make_trial()]), "2026-11-16T10:00:00+00:00")
    (point,) = sweep([run], "latency.p99", factor)
    assert point.factor == value


@pytest.mark.parametrize("changes", [{"quick": True}, {"valid": NO}, {"correct": NO}])
def test_what_does_not_count_is_in_no_sweep(tmp_path, changes):
    run = write_run(tmp_path, [make_trial(**changes)])
    with pytest.raises(UsageError, match="counts"):
        sweep([run], "latency.p99", "rate")


def test_unknown_factors_and_metrics_are_refused(tmp_path):
    run = write_run(tmp_path, [make_trial()])
    with pytest.raises(UsageError, match="unknown factor 'rates'"):
        sweep([run], "latency.p99", "rates")
    with pytest.raises(UsageError, match="unknown metric"):
        sweep([run], "latency.p98", "rate")


def test_a_truncated_trial_is_named(tmp_path):
    run = write_run(tmp_path, [make_trial()])
    file = run.trial_folder(1) / "trial.json"
    file.write_text(json.dumps(json.loads(file.read_text()))[:200])
    with pytest.raises(UsageError, match=r"trial\.json is not a readable trial"):
        sweep([run], "latency.p99", "rate")
