"""The whole experiment against simulated systems, each time as if it were resumed."""

from collections.abc import Callable
from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.experiments.scalability.answer import Scaling, Search
from streamgauge.experiments.scalability.experiment import Scalability
from streamgauge.planning import Asked, cautions, plan_run
from streamgauge.results.events import count_trials
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict
from tests.simulated import Engine, run

WRONG = Verdict(holds=False, reason="of 10 expected and 10 outputs: 1 wrong")
Runs = Callable[[TrialSpec], TrialResult]


def asked(*queries: str, **options: Any) -> RunSpec:
    settings = options.pop("settings", {})
    options = {"resources": "instances:1..3", "load": "rate:1k/s..30k/s*1.4", **options}
    given = {
        "experiment": "scalability",
        "experiment_options": {name: str(value) for name, value in options.items()},
        "partitions": 6,
        **settings,
    }
    target = f"theodolite/{','.join(queries or ('uc2',))}"
    return plan_run(target, {name: Asked(value) for name, value in given.items()})


def scaled(per_instance: float = 9000.0, loss: float = 0.1, driver: float = 1e9) -> Runs:
    """Return a system that carries so much per instance, each one a little less."""

    def trial(spec: TrialSpec) -> TrialResult:
        instances = spec.resources.instances or 1
        engine = Engine(per_instance * instances / (1 + loss * (instances - 1)), noise=0.05)
        return run(spec, engine, driver=driver, seed=spec.number)

    return trial


def search(spec: RunSpec, trial: Runs) -> tuple[list[TrialResult], Search, int]:
    history: list[TrialResult] = []
    while (following := Scalability(spec).next_trial(history)) is not None:
        assert following.number == len(history) + 1
        assert Scalability(spec).why(following, history)
        assert Scalability(spec).answer(history), "a part of it can be told at any time"
        written = trial(following).model_dump_json()
        history.append(TrialResult.model_validate_json(written))
        assert len(history) < 100
    experiment = Scalability(spec)
    answer = experiment.answer(history)
    assert Scaling.model_validate_json(answer.model_dump_json()) == answer
    return history, answer.searches[0], experiment.exit_code(history)


def test_the_capacity_of_each_number_of_instances_is_found() -> None:
    history, found, code = search(asked(metric="capacity"), scaled())
    truth = [9000, 9000 * 2 / 1.1, 9000 * 3 / 1.2]
    for point, real in zip(found.points, truth, strict=True):
        assert point.found_size is not None
        assert point.found_size == pytest.approx(real, rel=0.4)
        assert point.found_size <= 1.05 * real, "0.05 of the rate may be left over"
        assert point.limit == "engine"
        assert point.beyond_size == pytest.approx(1.4 * point.found_size, rel=0.01)
    assert code == 0
    assert found.conclusion.startswith("capacity in rate for instances 1: ")
    assert history[-1].spec.factors == history[0].spec.factors, "the first one again"
    assert found.drift is not None
    assert "hardly changed" in found.drift.told


def test_the_demand_of_each_load_is_found_in_few_trials() -> None:
    history, found, _ = search(asked(), scaled())
    assert len(found.points) == 11
    told = {point.at: point.found for point in found.points}
    assert (told["1k/s"], told["7.53k/s"], told["10.5k/s"], told["28.9k/s"]) == (
        "1",
        "1",
        "2",
        None,
    )
    assert len(history) <= 11 + 3 - 1 + 1
    assert not found.contradictions
    assert "28.9k/s: more than was tried" in found.conclusion


def test_repetitions_are_judged_by_their_median() -> None:
    def once_bad(spec: TrialSpec) -> TrialResult:
        slow = spec.repeat == 2
        return run(spec, Engine(500.0 if slow else 9000.0), seed=spec.number)

    three = asked(
        metric="capacity", load="rate:1k/s,2k/s", resources="instances:1", settings={"repeats": 3}
    )
    history, found, _ = search(three, once_bad)
    assert [result.spec.repeat for result in history] == [1, 2, 3, 1, 2, 3, 4]
    assert [each.outcome for each in found.tried] == ["pass", "pass"]
    assert found.tried[0].trials == (1, 2, 3)
    assert found.disagreements == (
        "1k/s with 1 passes by the objectives and fails by our rule of sustained throughput",
        "2k/s with 1 passes by the objectives and fails by our rule of sustained throughput",
    )


def test_the_driver_as_the_limit_is_no_verdict_on_the_engine() -> None:
    history, found, code = search(asked(metric="capacity"), scaled(per_instance=1e6, driver=6000))
    assert {point.limit for point in found.points} == {"harness"}
    assert all(point.found == "5.38k/s" for point in found.points)
    assert "at least 5.38k/s (the harness was the limit beyond)" in found.conclusion
    invalid = [result for result in history if result.status == "invalid"]
    assert len(invalid) == 2, "an invalid trial is repeated once, and no other tries that load"
    assert code == 0
    _, found, code = search(asked(), scaled(driver=100))
    assert all(point.found is None for point in found.points)
    assert code == 4


def test_a_search_in_which_nothing_passes_tells_so() -> None:
    _, found, code = search(asked(), scaled(per_instance=100))
    assert (found.points[0].found, found.points[0].limit, code) == (None, "engine", 1)
    assert "1k/s: more than was tried" in found.conclusion


def test_wrong_answers_and_a_dead_engine_fail_a_load_and_the_search_goes_on() -> None:
    healthy = scaled()

    def trial(spec: TrialSpec) -> TrialResult:
        result = healthy(spec)
        if spec.factors["rate"] == "2.74k/s" and spec.resources.instances == 1:
            update = {"status": "failed", "cause": "the engine died: out of memory\nlog"}
            return result.model_copy(update={**update, "metrics": {}, "pace": None, "lag": None})
        if spec.factors["rate"] == "2k/s":
            return result.model_copy(update={"correct": WRONG})
        return result

    history, found, code = search(asked(), trial)
    told = {each.load: each for each in found.tried if each.resources == "1"}
    assert told["2.74k/s"].outcome == "fail"
    assert told["2.74k/s"].reason == "the engine died: out of memory"
    assert code == 0
    assert len(history) > 5

    wrong = asked(metric="capacity", load="rate:1k/s,2k/s", settings={"repeats": 3})
    history, found, _ = search(wrong, trial)
    (second,) = [each for each in found.tried if each.load == "2k/s" and each.resources == "1"]
    assert (second.outcome, second.reason, len(second.trials)) == ("fail", WRONG.reason, 1)


def test_several_objectives_must_all_hold() -> None:
    both = {"objectives": ["lag.trend<0.05*rate", "cpu.engine<0.5*cores"]}
    _, found, _ = search(asked(metric="capacity", settings=both), scaled())
    (first, *_) = found.points
    assert first.found_size is not None
    assert first.found_size < 4500
    failed = next(each for each in found.tried if each.outcome == "fail")
    assert failed.reason.startswith("cpu.engine is ")
    assert failed.bounds["cpu.engine"] == 0.5


def test_a_system_that_contradicts_itself_is_told() -> None:
    def trial(spec: TrialSpec) -> TrialResult:
        strange = spec.factors["rate"] == "1.4k/s"
        return run(spec, Engine(100.0 if strange else 9000.0), seed=spec.number)

    _, found, _ = search(asked(strategy="full", begin="nothing", resources="instances:1"), trial)
    assert found.contradictions == (
        "rate=1.96k/s with instances=1 passed, but rate=1.4k/s with instances=1, which is easier,"
        " failed",
    )


def test_a_machine_that_changes_is_told() -> None:
    def trial(spec: TrialSpec) -> TrialResult:
        slower = 1.0 if spec.number < 4 else 1.3
        return run(spec, Engine(9000.0 / slower), seed=spec.number)

    _, found, _ = search(asked(resources="instances:1", metric="capacity"), trial)
    assert found.drift is not None
    assert found.drift.told == (
        "the machine has changed, so results near a bound are doubtful: when the first trial was"
        " repeated, its CPU time per record changed by +30 %"
    )


def test_what_it_costs_is_told_of_what_carries_each_load() -> None:
    _, found, _ = search(asked(price=0.1, load="rate:3.6k/s,7.2k/s"), scaled())
    first, second = found.costs
    assert (first.load, first.resources, first.cores) == ("3.6k/s", "1", 1.0)
    assert first.per_million == pytest.approx(0.1 / 3600 / 3600 * 1e6)
    assert second.per_month == pytest.approx(73.0)
    assert first.cpu_s_per_million == pytest.approx(1e6 / 9000, rel=0.01)
    _, found, _ = search(asked(load="rate:3.6k/s"), scaled())
    assert found.costs[0].per_million is None


def test_four_sizes_are_explained_by_a_model_and_two_are_not() -> None:
    spec = asked(metric="capacity", resources="instances:1..4", load="rate:1k/s..60k/s*1.4")
    _, found, _ = search(spec, scaled(loss=0.1))
    assert found.explained is not None
    assert found.explained.kind == "usl"
    at_eight = found.explained.curve[-1]
    assert (at_eight.size, at_eight.measured) == (8, False)
    assert at_eight.low < at_eight.middle < at_eight.high
    assert at_eight.middle == pytest.approx(9000 * 8 / 1.7, rel=0.6)
    assert len(found.explained.efficiencies) == 3
    assert "predicted, not measured: 8 instances" in found.explained.told[-1]

    _, found, _ = search(asked(metric="capacity", resources="instances:1,2"), scaled())
    assert found.explained is not None
    assert (found.explained.kind, found.explained.curve) == (None, ())
    assert found.explained.told == ("no model: 2 capacities are too few, 3 are needed",)
    assert search(asked(), scaled())[1].explained is None


def test_two_capacities_are_compared_by_resources() -> None:
    spec = asked(metric="capacity", resources="instances:1,2")
    slow, fast = (
        Scalability(spec).answer(search(spec, scaled(per_instance))[0])
        for per_instance in (6000.0, 12_000.0)
    )
    one, two = Scalability.compare(slow, fast)
    assert (one.query, two.query) == ("uc2 with instances=1", "uc2 with instances=2")
    assert one.base[0] is not None
    assert one.base[1] is not None
    assert one.other[0] is not None
    assert one.base[0] < one.base[1] <= one.other[0]
    demand = asked(resources="instances:1,2")
    found = Scalability(demand).answer(search(demand, scaled())[0])
    assert not Scalability.compare(found, found)


def test_each_query_has_a_search_of_its_own() -> None:
    spec = asked("uc2", "uc3-final", resources="instances:1", load="rate:1k/s,2k/s")
    experiment = Scalability(spec)
    assert [trial.query for trial in experiment.plan()] == ["uc2", "uc3-final"]
    history, _, _ = search(spec, scaled())
    assert [result.spec.query for result in history] == ["uc2"] * 2 + ["uc3-final"] * 2


def test_the_dry_run_tells_how_many_trials_to_expect() -> None:
    spec = asked(
        load="rate:1k/s,2k/s,5k/s,10k/s,20k/s,50k/s", resources="instances:1,2", survey=True
    )
    stages = Scalability(spec).outline()
    assert "at most 7 trials" in stages[0].what
    assert stages[0].trials <= 7
    assert count_trials(Scalability(spec)) == sum(stage.trials for stage in stages)
    assert (spec.warmup_s, spec.duration_s) == (30.0, 60.0)
    assert (asked().warmup_s, asked().duration_s) == (60.0, 240.0)


def test_what_the_machine_cannot_do_is_told_before_the_start() -> None:
    told = cautions(asked(resources="instances:1,2,4,64", settings={"partitions": 4}))
    assert told[0].startswith("4 partition(s) are not a multiple of 64 instances")
    assert "64 cores in all exceed this machine's" in told[1]
    assert len(told) == 2
    assert cautions(asked(resources="instances:1", settings={"partitions": 3})) == []


@pytest.mark.parametrize(
    ("options", "settings", "reason"),
    [
        ({"load": "rate:"}, {}, "names no factor"),
        ({"load": "instances:1,2"}, {}, "a load is a rate"),
        ({"resources": "rate:1k/s"}, {}, "resources are cores"),
        ({"load": "P.sensor:1,2"}, {}, "sensor"),
        ({"metric": "both"}, {}, "metric"),
        ({"resources": "cores:1,64"}, {"engine": "reference"}, "this machine has"),
        ({}, {"rates": ["1k/s"]}, "rate is varied"),
        ({}, {"shape": "poisson:1k/s"}, "rate is varied"),
        ({"load": "P.sensors:10,20"}, {"rates": ["1k/s", "2k/s"]}, "needs one rate"),
        ({}, {"vary": {"seed": [1, 2]}}, "cannot vary anything else"),
        ({"load": "P.sensors:10,20"}, {"shape": "poisson:1k/s"}, "constant rates"),
        ({"survey": True}, {"quick": True}, "exclude each other"),
        ({}, {"duration": "10s"}, "too short"),
    ],
)
def test_what_cannot_be_searched_is_refused(options: Any, settings: Any, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        asked(**options, settings=settings)
    assert reason in caught.value.message
