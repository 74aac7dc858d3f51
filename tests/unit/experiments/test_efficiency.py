"""What an event costs: points, lines through them, deviations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.experiments.efficiency import EfficiencyByTask, fit
from streamgauge.load.arrivals import parse_shape
from streamgauge.spec.run import RunSpec
from tests.unit.conftest import TrialMaker


def asked(**changes: object) -> RunSpec:
    return RunSpec.model_validate({"workload": "ysb", "queries": ("topic",), **changes})


def test_trials_are_profiled_and_warm_up_at_half_the_load() -> None:
    trials = EfficiencyByTask(asked(rates=(1000.0, 12345.6), repeats=2)).plan()
    assert [trial.profile for trial in trials] == ["auto"] * 4
    assert [trial.shape for trial in trials[::2]] == ["rested:1k/s", "rested:12345.6/s"]
    assert all(parse_shape(trial.shape or "").length_ms is None for trial in trials)
    assert [trial.profile for trial in EfficiencyByTask(asked(profile="jfr")).plan()] == ["jfr"]


def test_a_warmup_may_have_the_load_itself() -> None:
    plain = EfficiencyByTask(asked(experiment_options={"rested": False})).plan()
    assert [trial.shape for trial in plain] == [None]
    assert EfficiencyByTask(asked(warmup_s=0.0)).plan()[0].shape is None
    assert EfficiencyByTask(asked(shape="poisson:1k/s")).plan()[0].shape == "poisson:1k/s"


def test_costs_are_means_over_repeats_and_grow_along_lines(make_trial: TrialMaker) -> None:
    experiment = EfficiencyByTask(asked(rates=(1000.0, 2000.0, 4000.0), repeats=2))
    history = []
    for trial in experiment.plan():
        parse, rest = 10e-6, 0.05 / trial.rate  # 10 µs a record, and 0.05 cores in any case
        wobble = 1 + 0.1 * (trial.repeat - 1.5)
        metrics = {
            "cost.parse": parse * wobble,
            "cost.rest": rest,
            "cost.total": parse * wobble + rest,
            "rate.appended": trial.rate,
            "network.lo": 100 * trial.rate,
            "latency.mean": 0.5,
        }
        history.append(make_trial(trial.number, spec=trial, metrics=metrics))
    broken = make_trial(9, status="failed", metrics={"cost.total": 1.0, "rate.appended": 1.0})
    answer = experiment.answer([*history, broken])
    first = answer.points[0]
    assert [point.rate for point in answer.points] == [1000, 2000, 4000]
    assert first.trials == (1, 2)
    assert [each.task for each in first.tasks] == ["total", "rest", "parse"]
    assert first.tasks[0].cost == pytest.approx(60e-6)
    assert first.cores == pytest.approx(0.06)
    assert first.network == pytest.approx(100)
    assert first.latency_s == 0.5
    assert first.tasks[2].share_deviation == pytest.approx(0.0098, abs=2e-3)
    by_task = {line.task: line for line in answer.lines}
    assert by_task["total"].per_record == pytest.approx(10e-6)
    assert by_task["total"].base == pytest.approx(0.05)
    assert by_task["total"].r_squared == pytest.approx(1)


def test_what_different_back_ends_saw_is_kept_apart(make_trial: TrialMaker) -> None:
    experiment = EfficiencyByTask(asked(rates=(1000.0, 2000.0, 4000.0), repeats=3))
    by = {1: ["async-profiler", "py-spy"], 2: ["py-spy", "procfs", "async-profiler"], 3: ["jfr"]}
    history = [
        make_trial(
            trial.number,
            spec=trial,
            metrics={"cost.total": 1e-6 * trial.repeat, "rate.appended": trial.rate},
            profiled_by=by[trial.repeat],
        )
        for trial in experiment.plan()
    ]
    answer = experiment.answer(history)
    both, jfr = ("async-profiler", "py-spy"), ("jfr",)
    assert [point.profiled_by for point in answer.points] == [both, jfr] * 3
    assert [point.tasks[0].cost for point in answer.points[:2]] == [1.5e-6, 3e-6]
    assert {line.profiled_by: line.per_record for line in answer.lines} == {
        both: pytest.approx(1.5e-6),
        jfr: pytest.approx(3e-6),
    }


def test_without_a_profile_nothing_is_concluded(make_trial: TrialMaker) -> None:
    answer = EfficiencyByTask(asked()).answer([make_trial()])
    assert (answer.points, answer.lines) == ((), ())


@given(st.floats(-5, 5), st.floats(-5, 5), st.lists(st.integers(0, 99), min_size=2, unique=True))
def test_a_line_is_found_again(slope: float, base: float, xs: list[int]) -> None:
    found = fit(xs, [base + slope * x for x in xs])
    assert found[:2] == (pytest.approx(slope, abs=1e-6), pytest.approx(base, abs=1e-4))
    assert found[2] <= 1 + 1e-9
