"""The decision on one trial, against engines whose limit is known."""

import numpy as np
import pytest

from streamgauge.measure.sustained import Looks, Outputs, decide, pace
from streamgauge.spec.trial import Growth, TrialResult, TrialSpec, Verdict
from streamgauge.spec.values import Span
from tests.simulated import CAPACITY, KINDS, LEAKING, run


def spec(rate: float, **changes: object) -> TrialSpec:
    fields: dict[str, object] = {
        "number": 1,
        "workload": "espbench",
        "query": "q3",
        "parameters": {},
        "engine": "simulated",
        "rate": rate,
        "duration_s": 180.0,
        "warmup_s": 60.0,
    }
    return TrialSpec.model_validate(fields | changes)


@pytest.fixture(scope="module")
def good() -> TrialResult:
    return run(spec(CAPACITY / 2), KINDS["steady"])


def changed(result: TrialResult, **changes: object) -> TrialResult:
    assert result.pace is not None
    return result.model_copy(update={"pace": result.pace.model_copy(update=changes)})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_rate_well_below_the_limit_passes(kind: str, share: float) -> None:
    engine = KINDS[kind]
    for seed in range(3):
        assert decide(run(spec(share * engine.limit), engine, seed=seed)).outcome == "pass"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [1.1, 1.5, 4.0])
def test_a_rate_well_above_the_limit_fails(kind: str, share: float) -> None:
    engine = KINDS[kind]
    for seed in range(3):
        assert decide(run(spec(share * engine.limit), engine, seed=seed)).outcome == "fail"


def test_a_slow_leak_is_found_though_the_engine_is_not_far_behind() -> None:
    """It has capacity to spare when the measuring begins, and not enough at its end."""
    found = decide(run(spec(0.95 * CAPACITY), LEAKING))
    assert found.outcome == "fail"
    assert found.evidence["behind_p95_s"] < found.evidence["bound_s"]


def test_offsets_decide_where_they_are_timely_and_outputs_elsewhere() -> None:
    by = {kind: run(spec(1000.0), engine).pace for kind, engine in KINDS.items()}
    assert by["steady"] is not None
    assert by["silent"] is not None
    assert (by["steady"].by, by["silent"].by) == ("offsets", "outputs")
    assert by["silent"].consumed is None


def test_a_driver_that_was_late_says_nothing_about_the_engine() -> None:
    late = run(spec(CAPACITY * 2), KINDS["steady"], driver=CAPACITY)
    assert decide(late).outcome == "invalid"


def test_inputs_that_could_not_be_read_back_are_invalid(good: TrialResult) -> None:
    untold = Verdict(holds=None, reason="the inputs could not be read back")
    assert decide(good.model_copy(update={"valid": untold})).outcome == "invalid"


def test_a_dead_engine_fails_with_the_first_line_of_its_cause(good: TrialResult) -> None:
    cause = "the engine died: killed; end of engine.log:\na line\nanother"
    untold = Verdict(holds=None, reason="broke off")
    broken = {"status": "failed", "cause": cause, "valid": untold, "pace": None}
    found = decide(good.model_copy(update=broken))
    assert found.outcome == "fail"
    assert found.reason == "the engine died: killed; end of engine.log:"


GROWS = Growth(slope=0.02, low=0.011, high=0.03, blocks=15, decision="trend")
OPEN = Growth(slope=0.01, low=0.001, high=0.03, blocks=15, decision="undecided")
FEW = Growth(slope=None, low=None, high=None, blocks=9, decision="undecided")


@pytest.mark.parametrize(
    ("facts", "outcome", "part"),
    [
        ({"consumed": 0.9799}, "fail", "98 % is needed"),
        ({"consumed": 0.98}, "pass", "behind"),
        ({"behind_p95_s": 10.001}, "fail", "at most 10 s is allowed"),
        ({"behind_p95_s": 10.0}, "pass", "behind"),
        ({"behind_p95_s": 11.0, "bound_s": 12.0}, "pass", "behind"),
        ({"behind_growth": GROWS}, "fail", "the backlog grew by 0.02 s/s"),
        ({"latency_growth": GROWS}, "fail", "the latency grew by 0.02 s/s"),
        ({"behind_growth": OPEN}, "inconclusive", "whether the backlog grew"),
        ({"latency_growth": OPEN}, "inconclusive", "whether the latency grew"),
        ({"latency_growth": FEW}, "pass", "behind"),
        ({"behind_growth": FEW}, "inconclusive", "whether the backlog grew"),
        ({"behind_growth": OPEN, "latency_growth": GROWS}, "fail", "the latency grew"),
        ({"drain_s": 30.0}, "pass", "behind"),
        ({"drain_s": 30.1}, "fail", "more than 30 s"),
        ({"drain_s": 30.1, "bound_s": 16.0}, "pass", "behind"),
        ({"drain_s": None}, "fail", "more than 30 s"),
        ({"drain_s": None, "behind_growth": OPEN}, "fail", "more than 30 s"),
        ({"by": "outputs", "latency_growth": FEW}, "inconclusive", "offsets were reported"),
        ({"behind_p95_s": None}, "inconclusive", "how far the engine was behind is unknown"),
    ],
)
def test_each_rule_decides(
    good: TrialResult, facts: dict[str, object], outcome: str, part: str
) -> None:
    found = decide(changed(good, **facts))
    assert (found.outcome, part in found.reason) == (outcome, True), found.reason
    assert found.evidence.items() >= {"bound_s": facts.get("bound_s", 10.0)}.items()


def test_wrong_answers_are_no_throughput(good: TrialResult) -> None:
    wrong = Verdict(holds=False, reason="of 10 expected and 9 outputs: 1 missing")
    found = decide(good.model_copy(update={"correct": wrong}))
    assert (found.outcome, found.reason) == ("fail", wrong.reason)


def test_an_engine_without_answers_is_judged_by_its_pace(good: TrialResult) -> None:
    none = Verdict(holds=None, reason="this engine gives no answers")
    assert decide(good.model_copy(update={"correct": none})).outcome == "pass"


def test_a_quick_trial_asks_for_no_trend(good: TrialResult) -> None:
    quick = good.model_copy(update={"spec": spec(1000.0, quick=True)})
    assert decide(changed(quick, behind_growth=OPEN)).outcome == "pass"
    assert decide(changed(quick, behind_p95_s=11.0)).outcome == "fail"


def test_silence_is_no_sign_of_being_on_time() -> None:
    span = Span(0, 180_000)
    nothing = Outputs(np.zeros(180), np.array([], dtype=np.int64), np.array([]))
    told = pace(span, None, nothing, total_rate=1000.0, drain_s=1.0)
    assert told.behind_p95_s is None


def test_few_large_windows_do_not_hide_that_an_engine_falls_behind(good: TrialResult) -> None:
    """Between the ends of windows nobody waits for an output: *behind* is 0 most of the time."""
    ends_s = np.repeat(np.arange(60.0, 301.0, 60.0), 20)
    late_s = 0.05 * ends_s
    at_s = np.arange(300.0)
    since_end_s = at_s % 60
    behind_s = np.where(since_end_s < 0.05 * (at_s - since_end_s), since_end_s, 0)
    outputs = Outputs(behind_s, (1000 * ends_s - 1).astype(np.int64), late_s)
    told = pace(Span(0, 300_000), None, outputs, total_rate=1000.0, drain_s=1.0)
    assert told.behind_growth.decision == "none"
    assert decide(good.model_copy(update={"pace": told})).outcome == "inconclusive"


def test_the_share_consumed_is_not_off_by_a_batch() -> None:
    """Batches of 4 s in 60 s: counted from the first to the last it would be 7 % off."""
    span = Span(0, 60_000)
    at_s = np.arange(60.0)
    for phase_s in range(4):
        finished = 1000 * ((at_s + phase_s) // 4) * 4
        looks = Looks(at_s, 1000 * at_s - finished, finished)
        nothing = Outputs(np.zeros(60), np.array([], dtype=np.int64), np.array([]))
        told = pace(span, looks, nothing, total_rate=1000.0)
        assert told.consumed == pytest.approx(1.0, abs=0.01)


def test_an_engine_that_keeps_up_with_a_load_that_fluctuates_has_consumed_all_of_it() -> None:
    at_s = np.arange(180.0)
    offered = np.cumsum(np.where((at_s >= 60) & (at_s < 120), 300.0, 900.0))
    looks = Looks(at_s, np.full(180, 450.0), offered - 450.0)
    nothing = Outputs(np.zeros(180), np.array([], dtype=np.int64), np.array([]))
    told = pace(Span(0, 180_000), looks, nothing, total_rate=700.0)
    assert told.consumed == pytest.approx(1.0, abs=0.001)


def test_of_a_short_trial_the_share_consumed_is_not_told() -> None:
    """Reports once a second, seen up to a second late, are several percent off in ten seconds."""
    at_s = np.arange(20.0)
    looks = Looks(at_s, np.zeros(20), 1000 * at_s)
    nothing = Outputs(np.zeros(20), np.array([], dtype=np.int64), np.array([]))
    assert pace(Span(0, 20_000), looks, nothing, total_rate=1000.0).consumed is None
