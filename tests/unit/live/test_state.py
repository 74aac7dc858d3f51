from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.experiments.fixed_rate import FixedRate
from streamgauge.live import state as live
from streamgauge.live.state import State, fold
from streamgauge.measure import behind
from streamgauge.results import events
from streamgauge.spec.trial import Verdict
from tests.live_runs import make_spec, result, sample, trial

SPEC = make_spec()


def folded(*lines: dict[str, Any]) -> State:
    return reduce(fold, lines, State())


def under_way(*rows: dict[str, float]) -> State:
    """Return the state after a trial has begun and was sampled."""
    begun = events.begins(FixedRate(SPEC).plan()[0], FixedRate(SPEC), [])
    return folded(begun, *(events.sampled(1, row) for row in rows))


def test_a_trial_that_has_begun_tells_what_it_asks_and_what_comes_next() -> None:
    (first, *_) = trial(SPEC)
    now = folded(first).trial
    assert now is not None
    assert (now.number, now.planned) == (1, 2)
    assert (now.kind.query, now.kind.rate, now.kind.why) == ("q1", 10_000, "the first of the plan")
    assert now.next is not None
    assert (now.next.query, now.next.why) == ("q3", "the next query at this rate")


def test_nothing_comes_after_the_last_trial() -> None:
    (first, *_) = trial(SPEC, number=2)
    now = folded(first).trial
    assert now is not None
    assert now.next is None


def test_a_phase_tells_since_when_and_how_long() -> None:
    lines = [line for line in trial(SPEC) if line.get("phase") != "validate"][:-1]
    now = folded(*lines).trial
    assert now is not None
    assert now.phase == "measure"
    assert now.lasts_s == 20.0
    assert now.phase_at == lines[0]["at"] + 6


def test_rates_are_per_second_since_the_sample_before() -> None:
    state = under_way(sample(100.0, 0, 1000.0), sample(102.0, 2, 1000.0))
    newest = state.sample
    assert newest is not None
    assert (newest.offered, newest.sent, newest.appended) == (1000.0, 1000.0, 1000.0)


def test_the_first_sample_tells_no_rate() -> None:
    newest = under_way(sample(100.0, 5, 1000.0)).sample
    assert newest is not None
    assert newest.sent is None
    assert newest.cpu == {"engine": 0.7, "broker": 0.2, "sender": 0.1}


def test_a_sample_that_was_told_twice_counts_once() -> None:
    row = sample(100.0, 0, 1000.0)
    assert under_way(row, row) == under_way(row)


def reporting(*finished: float) -> list[live.Sample]:
    """Return the samples of an engine that reports so much after each second of load."""
    rows = [
        {**sample(100.0 + second, 1 + second, 1000.0), "finished": done}
        for second, done in enumerate(finished)
    ]
    states = (under_way(*rows[: n + 1]) for n in range(len(rows)))
    return [state.sample for state in states if state.sample is not None]


def test_lag_is_told_once_reports_come_in_time() -> None:
    told = [each.lag for each in reporting(500, 1500, 2500, 3500)]
    assert told == [None, 501.0, 501.0, 501.0]


def test_lag_grows_on_when_a_timely_engine_stops_reporting() -> None:
    told = [each.lag for each in reporting(500, *[1500] * 9)]
    assert told == [None, *(501.0 + 1000 * second for second in range(9))]


def test_an_engine_that_reports_seldom_has_no_lag() -> None:
    seldom = [1000.0 * (second // 8 * 8) for second in range(40)]
    assert {each.lag for each in reporting(*seldom)} == {None}


def test_what_an_engine_finished_is_spread_over_the_time_since_its_report_before() -> None:
    seldom = [1000.0 * (second // 8 * 8) for second in range(25)]
    assert {each.finished for each in reporting(*seldom)} == {None, 1000.0}


def test_markers_say_nothing_about_lag() -> None:
    rows = [
        {**sample(100.0 + n, 0, 1000.0), "finished": float(min(n, 2)), "log_end": 2.0}
        for n in range(3)
    ]
    rows += [{**sample(103.0 + n, 1 + n, 1000.0), "finished": 2.0} for n in range(9)]
    newest = under_way(*rows).sample
    assert newest is not None
    assert newest.lag is None


def test_lag_is_timely_as_it_is_in_the_results() -> None:
    assert live.TIMELY_S == behind.TIMELY_S


def test_an_engine_that_reports_nothing_has_no_lag() -> None:
    row = sample(100.0, 3, 1000.0)
    del row["finished"]
    newest = under_way(row).sample
    assert newest is not None
    assert newest.lag is None


def test_what_came_of_a_trial_is_kept_with_its_verdicts() -> None:
    planned = FixedRate(SPEC).plan()[0]
    wrong = Verdict(holds=False, reason="3 wrong")
    failed = events.ended(result(planned, correct=wrong), ())
    (ended,) = folded(*trial(SPEC), failed).ended[1:]
    assert (ended.valid, ended.correct, ended.kept_up) == (True, False, True)
    assert ended.reason == "3 wrong"
    assert ended.metrics == {"latency.p50": 0.2, "latency.p99": 0.3}


def test_the_last_trial_stays_in_sight_when_it_is_over() -> None:
    state = folded(*trial(SPEC))
    assert state.trial is not None
    assert state.trial.over
    assert state.sample is not None


def test_the_next_trial_begins_without_the_samples_of_the_last() -> None:
    (begin, *_) = trial(SPEC, number=2)
    state = folded(*trial(SPEC), begin)
    assert (state.begun, state.sample, len(state.ended)) == (2, None, 1)


def test_a_trial_that_was_interrupted_begins_again() -> None:
    lines = list(trial(SPEC))
    state = folded(*lines[:10], *lines)
    assert (state.begun, len(state.ended)) == (2, 1)


def test_samples_of_another_trial_are_left_out() -> None:
    assert under_way() == folded(
        events.begins(FixedRate(SPEC).plan()[0], FixedRate(SPEC), []),
        events.sampled(2, sample(100.0, 0, 1000.0)),
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "12", None, True, [1]])
def test_what_is_no_number_is_absent(value: object) -> None:
    newest = under_way({**sample(100.0, 0, 1.0), "newest_latency": value}).sample  # type: ignore[dict-item]
    assert newest is not None
    assert newest.newest_latency is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
_KEYS = st.sampled_from(
    ["at", "trial", "planned", "phase", "status", "next", "metrics", "sent", "finished", "cpu.x"]
)


@given(st.lists(st.dictionaries(_KEYS, st.just(1) | _JSON), max_size=6))
def test_no_event_breaks_the_fold(lines: list[dict[str, Any]]) -> None:
    assert folded(*lines).begun <= len(lines)


def test_a_trial_tells_its_own_phases() -> None:
    (first, *_) = trial(SPEC)
    now = folded(first).trial
    assert now is not None
    assert now.phases[:3] == ("prepare", "start", "consume")
    planned = FixedRate(SPEC).plan()[0]
    assert events.phases_of(planned.model_copy(update={"backlog": True}))[:2] == (
        "prepare",
        "send backlog",
    )
    gathers = planned.model_copy(update={"shape": "backlog:6k/s@5m,1k/s"})
    assert events.phases_of(gathers)[:4] == ("prepare", "send backlog", "start", "measure")
    assert "read back" in events.phases_of(planned.model_copy(update={"engine": None}))
