from streamgauge.experiments.append_time import AppendTime
from streamgauge.experiments.broker import Broker
from streamgauge.spec.run import RunSpec, Variant
from streamgauge.spec.trial import LoadSpec
from tests.unit.conftest import TrialMaker


def make_run(**changes: object) -> RunSpec:
    variants = [
        Variant(load=LoadSpec(acks=acks, idempotence=False), partitions=partitions)
        for acks in ("0", "all")
        for partitions in (1, 4)
    ]
    fields: dict[str, object] = {
        "workload": "espbench",
        "queries": ("q1",),
        "engine": None,
        "rates": (1000.0, 2000.0),
        "repeats": 2,
        "variants": tuple(variants),
    }
    return RunSpec.model_validate(fields | changes)


def test_every_combination_is_tried_as_often_as_asked() -> None:
    trials = Broker(make_run()).plan()
    found = [(t.rate, t.load.acks, t.partitions, t.repeat) for t in trials]
    assert len(set(found)) == len(found) == 2 * 2 * 2 * 2
    assert {trial.engine for trial in trials} == {None}
    assert [trial.number for trial in trials] == list(range(1, 17))


def test_one_way_to_send_needs_no_variants() -> None:
    run = make_run(variants=(), rates=(5.0,), repeats=1, partitions=3, resources={"cores": 2})
    (trial,) = Broker(run).plan()
    assert (trial.partitions, trial.resources.cores, trial.load) == (3, 2, LoadSpec())


def test_the_answer_is_what_was_reached(make_trial: TrialMaker) -> None:
    history = [
        make_trial(1, metrics={"rate.appended": 900.0}),
        make_trial(2, metrics={"rate.appended": 400.0}),
        make_trial(3, metrics={}, status="invalid"),
    ]
    experiment = Broker(make_run())
    answer = experiment.answer(history)
    assert answer.highest == 900.0
    assert [row.reached for row in answer.reached] == [900.0, 400.0]
    following = experiment.next_trial(history)
    assert following is not None
    assert following.number == 4


def test_append_times_are_answered_by_rate_and_batch(make_trial: TrialMaker) -> None:
    history = [make_trial(1, metrics={"append_run.mean": 11.0, "append_step.mean": 0.001})]
    answer = AppendTime(make_run()).answer(history)
    (row,) = answer.append_times
    assert (row.records, row.step_s, row.batch) == (11.0, 0.001, 65_536)
