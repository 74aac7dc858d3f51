from hypothesis import given
from hypothesis import strategies as st

from streamgauge.experiments.ceiling import HIGHEST_RATE, Ceiling
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict

RUN = RunSpec(workload="espbench", queries=("q1",), engine="noop")


def judge(spec: TrialSpec, capacity: float, *, driver: bool = True) -> TrialResult:
    held = spec.rate <= capacity
    verdict = Verdict(holds=held, reason="so it is" if held else "too much")
    yes = Verdict(holds=True, reason="fine")
    return TrialResult(
        spec=spec,
        status="done" if held or not driver else "invalid",
        valid=verdict if driver else yes,
        correct=Verdict(holds=None, reason="no answers"),
        kept_up=yes if driver else verdict,
        started="2026-11-16T17:30:00+00:00",
    )


@given(st.floats(1, 1e8), st.booleans())
def test_the_answer_is_the_highest_step_below_the_capacity(capacity: float, driver: bool) -> None:
    experiment, history = Ceiling(RUN), list[TrialResult]()
    while (trial := experiment.next_trial(history)) is not None:
        assert trial.number == len(history) + 1
        history.append(judge(trial, capacity, driver=driver))
    answer = experiment.answer(history)
    if capacity < 10_000:
        assert (answer.ceiling, answer.limit) == (None, "too much")
        assert experiment.exit_code(history) == 1
    else:
        assert experiment.exit_code(history) == 0
        ceiling = answer.ceiling
        assert isinstance(ceiling, float)
        assert ceiling <= capacity
        assert 2 * ceiling > min(capacity, HIGHEST_RATE)


def test_steps_are_short_unless_asked_otherwise() -> None:
    (first,) = Ceiling(RUN).plan()
    assert (first.rate, first.duration_s, first.warmup_s) == (10_000, 20, 10)
    asked = RUN.model_copy(
        update={
            "rates": (500.0,),
            "duration_s": 5.0,
            "origins": {"rates": "option", "duration": "option"},
        }
    )
    (first,) = Ceiling(asked).plan()
    assert (first.rate, first.duration_s, first.warmup_s) == (500, 5, 10)
