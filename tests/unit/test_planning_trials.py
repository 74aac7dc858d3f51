"""What planning decides of a trial: sizes, times, acts, mode; and what it refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import TrialInvalid, UsageError
from streamgauge.planning import Asked, load_experiment, plan_run, settle
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import ActSpec, TrialResult, TrialSpec
from streamgauge.workloads.espbench.acts import downtime
from tests.unit.conftest import TrialMaker

DOWNTIME = {
    "at_s": 8,
    "service": "postgres",
    "name": "espbench.downtime",
    "arguments": {"workplace": 1, "from_s": 9, "to_s": 12.5},
}


def plan(target: str = "espbench/q4", **asked: object) -> RunSpec:
    given = {"engine": "reference", "duration": "20s", "warmup": "5s", **asked}
    return plan_run(target, {name: Asked(value) for name, value in given.items() if value})


def only(target: str = "espbench/q4", **asked: object) -> TrialSpec:
    (trial,) = load_experiment(plan(target, **asked)).plan()
    return settle(trial)


def test_downtimes_are_acts_of_the_trial() -> None:
    trial = only(parameters={"workplaces": "3,5"}, warmup="30s")
    assert [act.arguments["workplace"] for act in trial.acts] == [3, 5]
    first = trial.acts[0]
    assert (first.at_s, first.service, first.name) == (25.0, "postgres", "espbench.downtime")
    assert (first.arguments["from_s"], first.arguments["to_s"]) == (35.0, 45.0)
    assert trial.notes == ()


def test_a_warm_up_too_short_for_a_downtime_is_lengthened_and_told() -> None:
    trial = only(duration="12s", warmup="1s")
    assert trial.warmup_s == 7.0
    assert trial.notes == (
        "warm-up lengthened from 1 s to 7 s: a downtime is written 10 s before it begins",
    )
    assert trial.acts[0].at_s == 0


def test_a_stream_has_order_lines_enough_and_it_is_told() -> None:
    trial = only("espbench/q5", rates=["50k/s"], quick=True, duration="1m")
    assert trial.parameters["warehouses"] == 7
    assert trial.notes == ("W raised from 1 to 7: the stream must not repeat an order line",)


def test_the_mode_is_that_of_the_engine() -> None:
    assert only("espbench/q2", engine="spark").mode == "microbatch"
    assert only("espbench/q3", engine="spark").mode == "realtime"


def test_a_backlog_and_a_broker_alone_have_no_downtimes() -> None:
    search = load_experiment(plan(experiment="sustainable", duration="3m", warmup="60s"))
    (probe,) = search.plan()
    assert settle(probe).acts == ()
    assert settle(probe).load_s == probe.load_s
    assert only(experiment="broker", engine=None).acts == ()


@given(
    st.sampled_from(["q1", "q3", "q4", "q5"]),
    st.floats(1, 1e5),
    st.floats(0, 100),
    st.floats(1, 300),
)
def test_what_is_settled_stays(query: str, rate: float, warmup_s: float, duration_s: float) -> None:
    run = plan(f"espbench/{query}")
    trial = settle(run.trial(1, query, rate, warmup_s=warmup_s, duration_s=duration_s))
    assert settle(trial) == trial
    assert TrialSpec.model_validate_json(trial.model_dump_json()) == trial


def test_more_order_lines_than_there_can_be_are_refused_before_anything_starts() -> None:
    with pytest.raises(UsageError, match="q5 needs an order line for two records: 9"):
        plan("espbench/q5", rates=["1M/s"], duration="5h", warmup="5m")


def test_acts_of_a_preset_are_done_in_every_trial() -> None:
    run = plan("espbench/q4", acts=[DOWNTIME], repeats=2)
    for trial in load_experiment(run).plan():
        times = [(act.at_s, act.arguments["workplace"]) for act in settle(trial).acts]
        assert times == [(0.0, 3), (8.0, 1)]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"at_s": 27.5}, "at 27.5 s, but the load of q4 lasts from 0 to 27 s"),
        ({"at_s": -0.1}, "at -0.1 s, but the load of q4"),
        ({"at_s": float("nan")}, "at_s"),
        ({"at_s": "soon"}, "at_s"),
        ({"name": "espbench.downtme"}, "unknown act 'espbench.downtme'"),
        ({"service": "redis"}, "needs redis, which a trial of q4 does not have"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_acts_that_cannot_be_done_are_refused(change: dict[str, object], part: str) -> None:
    with pytest.raises(UsageError) as raised:
        plan(acts=[{**DOWNTIME, **change}])
    assert part in raised.value.message


def test_the_nearest_act_and_the_services_of_the_trial_are_named() -> None:
    with pytest.raises(UsageError) as raised:
        plan(acts=[{**DOWNTIME, "name": "espbench.downtme"}])
    assert "Did you mean espbench.downtime?" in str(raised.value.remedy)
    with pytest.raises(UsageError, match="needs postgres, which a trial of q3") as raised:
        plan("espbench/q3", acts=[DOWNTIME])
    assert raised.value.remedy == "Services of that trial: kafka."


@pytest.mark.parametrize(
    "arguments", [{}, {"workplace": 1, "from_s": 1}, {"workplace": "a", "from_s": 1, "to_s": 2}]
)
def test_a_downtime_without_its_arguments_spoils_the_trial(arguments: Any) -> None:
    nowhere = PostgresEndpoint(host="", port=0, database="", user="", password="", schema="")
    with pytest.raises(TrialInvalid, match=r"espbench\.downtime takes workplace, from_s and to_s"):
        downtime(nowhere, 0, arguments)


def test_a_profiler_that_nobody_registered_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown profiler 'pref'") as raised:
        plan(profile="pref")
    assert raised.value.remedy is not None
    assert raised.value.remedy.startswith("Did you mean perf? Known: async-profiler, auto, jfr, ")


def test_an_interrupted_run_goes_on_with_the_same_trials(make_trial: TrialMaker) -> None:
    vary = {"partitions": "1,2", "P.workplaces": "1,3;1,2"}
    run = plan(acts=[DOWNTIME], vary=vary, cores=1, repeats=2)
    again = RunSpec.model_validate_json(run.model_dump_json())
    assert again == run
    history: list[TrialResult] = []
    while (trial := load_experiment(run).next_trial(history)) is not None:
        resumed = load_experiment(again).next_trial(history)
        assert resumed is not None
        assert settle(resumed) == settle(trial)
        kept = TrialSpec.model_validate_json(settle(trial).model_dump_json())
        assert kept == settle(trial)
        history.append(make_trial(spec=kept))
    assert len(history) == 8
    assert history[-1].spec.acts == (ActSpec.model_validate(DOWNTIME),)
