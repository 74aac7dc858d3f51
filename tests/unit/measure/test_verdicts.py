import json
from dataclasses import replace

import numpy as np
import pytest

from streamgauge.measure.trend import Trend
from streamgauge.measure.verdicts import (
    Drain,
    LoadFacts,
    correct,
    exit_code,
    kept_up,
    kept_up_noop,
    steady,
    took,
    valid,
    worst,
)
from streamgauge.objectives import parse_objective
from streamgauge.spec.trial import Counts, LoadSpec, TrialResult, TrialSpec, Verdict

ON_TIME = LoadFacts(due=1000, sent=1000, lateness_p99_s=0.002, clock_moved_s=0.0001)
DRAINED = Drain(drained=True)
NOT_DRAINED = Drain(drained=False, outstanding=1234)
LEVEL = Trend(0.0, -0.001, 0.001, 15, "none")
RISING = Trend(0.05, 0.04, 0.06, 15, "trend")
UNDECIDED = Trend(0.01, -0.04, 0.06, 15, "undecided")
TOO_FEW_BLOCKS = Trend(None, None, None, 7, "undecided")
LITTLE_BEHIND = np.full(300, 1.0)


def test_a_driver_on_time_is_valid():
    verdict = valid(LoadSpec(), ON_TIME)
    assert verdict.holds is True
    assert verdict.reason == "the sender sent 100 % of what was due, 99 % of it at most 2 ms late"
    assert verdict.evidence["lateness_p99_s"] == 0.002


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"sent": 931},
            "the sender sent 93.1 % of what was due (at least 99 % is needed);"
            " the sender was the limit: lower the rate, give it a core of its own"
            " or share the load (-L senders=2)",
        ),
        ({"due": 100_000, "sent": 98_999}, "the sender sent 98.9 % of what was due"),
        ({"lateness_p99_s": 0.25}, "1 % of the records came 250 ms late or more"),
        ({"clock_moved_s": -0.005}, "the clock moved by -5 ms during the trial"),
        ({"clock_offset_s": 0.02}, "the clock of a remote service is 20 ms off"),
    ],
)
def test_what_makes_a_trial_invalid(change, reason):
    verdict = valid(LoadSpec(), replace(ON_TIME, **change))
    assert verdict.holds is False
    assert verdict.reason.startswith(reason)


def test_the_broker_alone_is_judged_by_the_clocks_and_not_by_lateness():
    assert steady(replace(ON_TIME, lateness_p99_s=9.0, sent=1)).holds is True
    verdict = steady(replace(ON_TIME, clock_offset_s=0.003))
    assert verdict.holds is True
    assert verdict.reason.endswith("the services' clocks are at most 3 ms off")
    for change in ({"clock_moved_s": 0.005}, {"clock_offset_s": -0.02}):
        assert steady(replace(ON_TIME, **change)).holds is False


def test_what_left_the_sender_and_was_not_appended_is_lost_on_the_way():
    load = LoadSpec(acks="0", idempotence=False)
    verdict = took(load, replace(ON_TIME, sent=900, handed_over=1000, backpressure_s=5.0))
    assert verdict.holds is False
    assert verdict.reason.startswith("the broker took 90 % of what was due; 100 % left the sender")
    assert "-L acks=1" in verdict.reason
    slow = took(load, replace(ON_TIME, sent=900, handed_over=900))
    assert "the sender was the limit" in slow.reason
    assert took(load, replace(ON_TIME, sent=995, handed_over=1000)).holds is True


def test_how_far_clocks_are_apart_is_told():
    verdict = valid(LoadSpec(), replace(ON_TIME, clock_offset_s=-0.003))
    assert verdict.reason.endswith("; the services' clocks are at most 3 ms off")


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ({"sent": 931, "errors": 5, "backpressure_s": 9.0}, "5 records were given up"),
        ({"sent": 931, "backpressure_s": 9.0}, "buffer was full for 9 s, so the broker was"),
        ({"sent": 931, "senders": 3}, "share the load (-L senders=4)"),
        ({"sent": 931, "send_lateness_p99_s": 0.001}, "the sender was the limit"),
        ({"lateness_p99_s": 0.25, "send_lateness_p99_s": 0.24}, "the sender was the limit"),
        (
            {"lateness_p99_s": 0.25, "send_lateness_p99_s": 0.001},
            "99 % were sent at most 1 ms late, so the broker was the limit",
        ),
        ({"lateness_p99_s": 0.25, "backpressure_s": 0.2}, "raise --partitions, -L batch"),
    ],
)
def test_the_reason_tells_who_was_the_limit(change, advice):
    assert advice in valid(LoadSpec(), replace(ON_TIME, **change)).reason


@pytest.mark.parametrize(
    "change",
    [
        {"sent": 990},
        {"due": 0, "sent": 0},
        {"lateness_p99_s": 0.1},
        {"clock_moved_s": 0.0049},
        {"clock_offset_s": -0.0049},
    ],
)
def test_bounds_that_are_just_met_are_met(change):
    assert valid(LoadSpec(), replace(ON_TIME, **change)).holds is True


def test_stricter_bounds_are_used():
    assert valid(LoadSpec(min_sent=1.0), replace(ON_TIME, sent=999)).holds is False
    assert valid(LoadSpec(max_lateness_s=0.001), ON_TIME).holds is False


@pytest.mark.parametrize(
    ("change", "holds"),
    [({"sent": 500}, None), ({"lateness_p99_s": 9.0}, None), ({"clock_moved_s": 0.1}, False)],
)
def test_a_late_load_of_a_quick_trial_is_told_and_not_judged(change, holds):
    late = replace(ON_TIME, **change)
    verdict = valid(LoadSpec(), late, quick=True)
    assert verdict == valid(LoadSpec(), late).model_copy(update={"holds": holds})


def test_unread_inputs_leave_validity_open():
    assert valid(LoadSpec(), replace(ON_TIME, lateness_p99_s=None)).holds is None


def test_all_right_is_correct():
    verdict = correct(Counts(expected=1200, correct=1200), DRAINED)
    assert verdict.holds is True
    assert verdict.reason == "all 1,200 expected outputs are right, each exactly once"


@pytest.mark.parametrize("kind", ["wrong", "missing", "duplicate", "unexpected"])
def test_one_fault_of_any_kind_is_incorrect(kind):
    verdict = correct(Counts(expected=9, correct=8, **{kind: 1}), DRAINED)
    assert verdict.holds is False
    assert verdict.reason.endswith(f": 1 {kind}")


def test_intermediate_outputs_are_no_fault_and_no_answer():
    grown = correct(Counts(expected=2, correct=2, intermediate=7), DRAINED)
    assert grown.holds is True
    assert grown.reason.endswith("are right, each exactly once, after 7 right intermediate ones")
    assert correct(Counts(expected=2, correct=1, missing=1, intermediate=7), DRAINED).holds is False


def test_when_correctness_cannot_be_told():
    wrong = Counts(expected=9, correct=8, wrong=1)
    missing = Counts(expected=9, correct=8, missing=1)
    assert correct(wrong, DRAINED, answers=False).holds is None
    assert correct(wrong, DRAINED, engine_died=True).holds is None
    assert correct(None, DRAINED).holds is None
    assert correct(missing, NOT_DRAINED).holds is None


def test_not_drained_excuses_nothing_but_missing_outputs():
    both = Counts(expected=9, correct=7, missing=1, wrong=1)
    assert correct(both, NOT_DRAINED).holds is False
    assert correct(Counts(expected=9, correct=9), NOT_DRAINED).holds is True


@pytest.mark.parametrize(
    ("drain", "trend", "behind_s", "settings", "holds"),
    [
        (DRAINED, LEVEL, 1.0, {}, True),
        (DRAINED, LEVEL, 10.0, {}, True),
        (DRAINED, LEVEL, 10.1, {}, False),
        (DRAINED, LEVEL, 10.1, {"trigger_s": 4.0}, True),
        (DRAINED, LEVEL, 12.1, {"trigger_s": 4.0}, False),
        (DRAINED, LEVEL, 10.1, {"trigger_s": 1.0}, False),
        (DRAINED, RISING, 1.0, {}, False),
        (DRAINED, UNDECIDED, 1.0, {}, None),
        (DRAINED, UNDECIDED, 11.0, {}, False),
        (DRAINED, TOO_FEW_BLOCKS, 1.0, {}, None),
        (DRAINED, LEVEL, 1.0, {"quick": True}, None),
        (DRAINED, RISING, 1.0, {"quick": True}, None),
        (NOT_DRAINED, LEVEL, 1.0, {"quick": True}, False),
        (NOT_DRAINED, LEVEL, 1.0, {"outputs": 0}, False),
        (NOT_DRAINED, LEVEL, 1.0, {"engine_died": True}, None),
        (Drain(None), LEVEL, 1.0, {}, None),
        (DRAINED, RISING, 1.0, {"outputs": 29}, None),
        (DRAINED, RISING, 1.0, {"outputs": 30}, False),
        (DRAINED, LEVEL, 1.0, {"engine_died": True}, None),
    ],
)
def test_whether_the_engine_kept_up(drain, trend, behind_s, settings, holds):
    arguments = {"outputs": 1000, **settings}
    verdict = kept_up(drain, trend, np.full(300, behind_s), **arguments)
    assert verdict.holds is holds
    json.dumps(verdict.model_dump(), allow_nan=False)


def test_only_the_last_third_is_bound():
    early = np.concatenate([np.full(200, 60.0), np.full(100, 1.0)])
    assert kept_up(DRAINED, LEVEL, early, outputs=1000).holds is True
    assert kept_up(DRAINED, LEVEL, early[::-1], outputs=1000).holds is False


@pytest.mark.parametrize(("late", "holds"), [(5, True), (6, False)])
def test_five_percent_of_the_last_third_may_exceed_the_bound(late, holds):
    behind_s = np.concatenate([np.full(300 - late, 1.0), np.full(late, 60.0)])
    assert kept_up(DRAINED, LEVEL, behind_s, outputs=1000).holds is holds


def test_reasons_have_the_numbers():
    reason = kept_up(NOT_DRAINED, LEVEL, LITTLE_BEHIND, outputs=1000).reason
    assert reason.startswith("not drained, 1,234 outstanding")
    reason = kept_up(DRAINED, RISING, LITTLE_BEHIND, outputs=1000).reason
    assert "0.05 s/s (90 % interval 0.04 to 0.06)" in reason


@pytest.mark.parametrize(
    ("drain", "lag", "settings", "holds"),
    [
        (DRAINED, 1000, {}, True),
        (DRAINED, 20_000, {}, True),
        (DRAINED, 20_001, {}, False),
        (NOT_DRAINED, 0, {}, False),
        (DRAINED, 0, {"engine_died": True}, None),
        (DRAINED, 0, {"quick": True}, None),
    ],
)
def test_whether_an_engine_without_outputs_kept_up(drain, lag, settings, holds):
    assert kept_up_noop(drain, np.full(20, float(lag)), 2000.0, **settings).holds is holds


def test_unknown_lag_leaves_it_open():
    assert kept_up_noop(DRAINED, None, 2000.0).holds is None


SPEC = TrialSpec(
    number=1,
    workload="w",
    query="q",
    parameters={},
    engine="e",
    rate=1.0,
    duration_s=1.0,
    warmup_s=0.0,
)


def result(status="done", valid=True, correct=True, kept_up=True):
    verdicts = {
        name: Verdict(holds=holds, reason="because")
        for name, holds in (("valid", valid), ("correct", correct), ("kept_up", kept_up))
    }
    return TrialResult(
        spec=SPEC, status=status, started="", metrics={"latency.p99": 1.5}, **verdicts
    )


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([], 0),
        ([result()], 0),
        ([result(valid=None, correct=None, kept_up=None)], 0),
        ([result(correct=False)], 1),
        ([result(kept_up=False)], 1),
        ([result(status="failed", correct=None)], 4),
        ([result(status="invalid", correct=False)], 4),
        ([result(valid=False)], 4),
        ([result(correct=False), result(status="failed"), result()], 4),
        ([result(status="failed"), result(status="interrupted")], 130),
    ],
)
def test_the_worst_trial_decides(results, code):
    assert exit_code(results) == code


def test_an_interrupted_run_says_so():
    assert exit_code([result()], interrupted=True) == 130


def test_a_missed_objective_is_told():
    met, missed, absent = map(parse_objective, ["latency.p99<2s", "latency.p99<1s", "lag.p99<100"])
    assert exit_code([result()], objectives=[met]) == 0
    assert exit_code([result()], objectives=[met, missed]) == 1
    assert exit_code([result()], objectives=[absent]) == 1


def test_severity():
    codes = [130, 70, 4, 3, 1, 0]
    for number, code in enumerate(codes):
        assert worst(codes[number:][::-1]) == code
    assert worst([]) == 0


@pytest.mark.parametrize(("unclosed", "holds"), [(0, True), (3, True), (4, False)])
def test_a_load_with_gaps_is_invalid_where_records_close_windows(unclosed, holds):
    verdict = valid(LoadSpec(), replace(ON_TIME, windows=300, unclosed=unclosed))
    assert verdict.holds is holds
    assert ("the load had gaps: after 4 of 300 windows" in verdict.reason) is not holds
