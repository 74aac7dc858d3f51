from streamgauge.experiments.fixed_rate import FixedRate, Tally
from streamgauge.spec.run import RunSpec
from tests.unit.conftest import TrialMaker


def test_every_combination_once(run_spec: RunSpec) -> None:
    trials = FixedRate(run_spec).plan()
    combinations = [(t.rate, t.query, t.repeat) for t in trials]
    assert len(set(combinations)) == len(combinations) == 2 * 2 * 2
    assert [trial.number for trial in trials] == list(range(1, 9))


def test_the_next_trial_is_the_first_without_a_result(
    run_spec: RunSpec, make_trial: TrialMaker
) -> None:
    experiment = FixedRate(run_spec)
    first = experiment.next_trial([])
    assert first is not None
    assert first.number == 1
    after = experiment.next_trial([make_trial(1), make_trial(3)])
    assert after is not None
    assert after.number == 2
    assert experiment.next_trial([make_trial(n) for n in range(1, 9)]) is None


def test_the_answer_counts(run_spec: RunSpec, make_trial: TrialMaker) -> None:
    history = [make_trial(1), make_trial(2, status="failed")]
    answer = FixedRate(run_spec).answer(history)
    assert answer == Tally(trials=8, done=1, correct=2, kept_up=2)


def test_it_tells_why_a_trial_comes(run_spec: RunSpec) -> None:
    experiment = FixedRate(run_spec)
    assert [experiment.why(trial, []) for trial in experiment.plan()[:5]] == [
        "the first of the plan",
        "repetition 2 of the same",
        "the next query at this rate",
        "repetition 2 of the same",
        "the next rate",
    ]
