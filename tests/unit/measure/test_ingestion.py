import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.ingestion import append_runs, first_append_times, rates
from streamgauge.spec.values import Span

SPAN = Span(1_000_000, 1_120_000)


def looks(rate: float, **changes: float) -> tuple[np.ndarray, np.ndarray]:
    """Look at the end of a log once a second, a little beside the seconds of the span."""
    at_s = np.arange(990.0, 1130.0) + 0.37
    return at_s, (at_s - 980) * rate


def test_a_steady_broker_has_one_rate_everywhere() -> None:
    found = rates(*looks(1000.0), SPAN)
    names = ("rate.appended", "rate_per_second.min", "rate_per_second.max", "rate_per_minute.p50")
    assert [found[name] for name in names] == pytest.approx([1000.0] * 4)


def test_a_pause_shows_in_the_worst_second_and_less_in_the_minute() -> None:
    at_s, ends = looks(1000.0)
    ends = np.where((at_s >= 1080) & (at_s < 1083), ends[np.searchsorted(at_s, 1080)], ends)
    found = rates(at_s, ends, SPAN)
    assert found["rate_per_second.min"] == 0
    assert 900 < found["rate_per_minute.min"] < 1000
    assert found["rate.appended"] == pytest.approx(1000.0)


def test_short_or_missing_looks_tell_nothing() -> None:
    assert rates(np.array([]), np.array([]), SPAN) == {}
    assert rates(np.array([1000.0]), np.array([5.0]), SPAN) == {}
    assert rates(np.array([990.0, 1000.2]), np.array([5.0, 6.0]), SPAN) == {}
    short = Span(1_000_000, 1_010_000)
    assert "rate_per_minute.max" not in rates(*looks(10.0), short)


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 5)), min_size=3, max_size=50))
def test_runs_and_steps_are_found_as_they_were_made(made: list[tuple[int, int]]) -> None:
    times, at = [], 5
    for records, step_ms in made:
        times += [at] * records
        at += step_ms
    found = append_runs(np.array(times, dtype=np.int64))
    inner = [records for records, _ in made[1:-1]]
    steps = [step_ms for _, step_ms in made[:-1]]
    assert found["append_run.mean"] == pytest.approx(np.mean(inner))
    assert found["append_run.max"] == max(inner)
    assert found["append_step.max"] == pytest.approx(max(steps) / 1000)
    assert found["append_step.mean"] == pytest.approx(np.mean(steps) / 1000)


def test_a_sample_without_whole_steps_tells_nothing() -> None:
    assert append_runs(np.array([1, 1, 2, 2], dtype=np.int64)) == {}
    assert append_runs(np.array([], dtype=np.int64)) == {}


def test_the_times_begin_at_zero_and_needs_all_its_records() -> None:
    times = np.array([7, 7, 8, 9], dtype=np.int64)
    assert first_append_times(times, 3) == [0, 0, 1]
    assert first_append_times(times, 5) == []
