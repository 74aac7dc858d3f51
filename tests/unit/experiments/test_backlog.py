from __future__ import annotations

import pytest

from streamgauge.errors import UsageError
from streamgauge.experiments.backlog import Backlog
from streamgauge.planning import plan_run
from streamgauge.planning.asked import Asked
from streamgauge.planning.trial import settle
from streamgauge.spec.run import RunSpec, Variant
from streamgauge.spec.trial import TrialResult
from tests.unit.conftest import TrialMaker


def make_run(**changes: object) -> RunSpec:
    fields: dict[str, object] = {"workload": "theodolite", "queries": ("uc3-final",), **changes}
    return RunSpec.model_validate(fields)


def test_all_records_of_every_combination_are_there_before_the_engine() -> None:
    options = ({"method": method} for method in ("bucket", "slices"))
    variants = tuple(Variant(engine_options=each) for each in options)
    trials = Backlog(make_run(variants=variants, repeats=2, duration_s=60.0)).plan()
    assert [trial.engine_options["method"] for trial in trials] == ["bucket"] * 2 + ["slices"] * 2
    assert {(t.backlog, t.warmup_s, t.duration_s, t.tail_s) for t in trials} == {(True, 0, 60, 0)}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"shape": "poisson:1k/s"}, "has no shape"),
        ({"acts": ({"at_s": 1, "service": "kafka", "name": "some"},)}, "no times to act at"),
    ],
)
def test_what_has_a_time_is_refused(asked: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Backlog(make_run(**asked))


def test_the_answer_explains_the_rates_of_each_method(make_trial: TrialMaker) -> None:
    def trial(number: int, method: str, additions: int, took_us: float) -> object:
        told = {
            "method": method,
            "method.overlap": "60",
            "method.additions": str(additions),
            "method.size_ms": "60000",
            "method.slide_ms": "1000",
            "method.per_second": "1",
        }
        rate = 1e6 / took_us
        metrics = {"rate.catch_up": rate, "cpu.engine": 1.5, "state.bytes": 2e6, "state.rows": 9.0}
        return make_trial(number, metrics=metrics, settings=told)

    history = [
        trial(1, "bucket", 1, 12.0),
        trial(2, "bucket", 30, 70.0),
        trial(3, "bucket", 60, 130.0),
        trial(4, "slices", 6, 20.0),
    ]
    answer = Backlog(make_run()).answer(history)  # type: ignore[arg-type]
    (cost,) = answer.costs
    assert cost.method == "bucket"
    assert (cost.record_us, cost.addition_us) == (pytest.approx(10), pytest.approx(2))
    first = answer.worked_off[0]
    assert first.cpu_us == pytest.approx(1.5 * 12)
    assert (first.state_bytes, first.state_rows) == (2e6, 9.0)
    assert first.windows is not None
    assert (first.windows.overlap, first.windows.additions) == (60, 1)


def worked_off(
    make_trial: TrialMaker, number: int, method: str, rate: float, per_second: str
) -> TrialResult:
    settings = {
        "method": method,
        "method.overlap": "60",
        "method.additions": "60",
        "method.size_ms": "60000",
        "method.slide_ms": "1000",
        "method.per_second": per_second,
    }
    factors = {"P.period": per_second, "E.method": method}
    trial = make_trial(number, metrics={"rate.catch_up": rate}, settings=settings)
    spec = trial.spec.model_copy(update={"factors": factors})
    return trial.model_copy(update={"spec": spec})


def test_what_auto_takes_is_compared_with_the_best_method_of_each_combination(
    make_trial: TrialMaker,
) -> None:
    history = [
        worked_off(make_trial, 1, "pairs", 50.0, "1"),
        worked_off(make_trial, 2, "pairs", 40.0, "1"),
        worked_off(make_trial, 3, "slices", 90.0, "1"),
        worked_off(make_trial, 4, "bucket", 10.0, "1000"),
        worked_off(make_trial, 5, "slices", 90.0, "1000"),
        worked_off(make_trial, 6, "slices", 90.0, "7"),
    ]
    rare, often = Backlog(make_run()).answer(history).auto
    assert rare.factors == {"P.period": "1"}
    assert (rare.method, rare.of_best) == ("pairs", pytest.approx(0.5))
    assert (often.method, often.of_best) == ("slices", pytest.approx(1.0))


def test_auto_may_take_a_method_that_was_not_measured(make_trial: TrialMaker) -> None:
    history = [
        worked_off(make_trial, 1, "slices", 10.0, "1"),
        worked_off(make_trial, 2, "bucket", 90.0, "1"),
    ]
    (chosen,) = Backlog(make_run()).answer(history).auto
    assert (chosen.method, chosen.of_best) == ("pairs", None)


def test_the_preset_tries_each_method_at_each_overlap() -> None:
    run = plan_run(None, {"preset": Asked("windows", "option")})
    trials = [settle(trial) for trial in Backlog(run).plan()]
    assert len(trials) == 3 * 4 * 3
    assert {trial.mode for trial in trials} == {"microbatch"}
