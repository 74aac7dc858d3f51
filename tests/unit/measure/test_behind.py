import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.behind import Offsets, behind, grid, lag_of_reports, last_third
from streamgauge.measure.matching import LATENCIES
from streamgauge.spec.values import Span

SPAN = Span(100_000, 110_000)


def table(pairs):
    """From (intended, emitted)."""
    columns = [
        {"key": str(number), "intended": intended, "emitted": emitted}
        for number, (intended, emitted) in enumerate(pairs)
    ]
    return pa.Table.from_pylist(columns, schema=LATENCIES)


around = st.integers(95_000, 115_000)
on_the_grid = st.integers(95, 115).map(lambda second: second * 1000)
times = around | on_the_grid


@given(st.lists(st.tuples(times, times)))
def test_agrees_with_a_look_at_every_output(pairs):
    brute = [
        max((t - intended for intended, emitted in pairs if intended <= t < emitted), default=0)
        for t in range(100_000, 110_000, 1000)
    ]
    assert behind(table(pairs), SPAN).tolist() == [age / 1000 for age in brute]


def test_an_output_from_before_the_span_reaches_into_it():
    assert behind(table([(99_000, 102_000)]), SPAN)[:3].tolist() == [1.0, 2.0, 0.0]


def test_what_waits_for_the_end_of_its_window_counts_from_then_on():
    row = {"key": "1", "intended": 99_000, "window_end": 101_000, "emitted": 103_000}
    found = behind(pa.Table.from_pylist([row], schema=LATENCIES), SPAN)
    assert found[:5].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


def test_without_outputs_nothing_is_behind():
    assert behind(table([]), SPAN).tolist() == [0.0] * 10


def test_the_grid_begins_with_the_span_and_ends_before_its_end():
    assert grid(SPAN).tolist() == list(range(100_000, 110_000, 1000))


def test_the_last_third_of_a_series():
    assert last_third(np.arange(9.0)).tolist() == [6.0, 7.0, 8.0]
    assert last_third(np.arange(1.0)).tolist() == [0.0]


def offsets(*pairs):
    return Offsets(
        np.array([at for at, _ in pairs], dtype=float), np.array([total for _, total in pairs])
    )


def test_lag_uses_the_newest_report_before_each_look():
    log_end = offsets((99, 1), (100, 10), (101, 20), (102, 30), (110, 99))
    finished = offsets((98, 5), (101, 18), (101.5, 20))
    found = lag_of_reports(log_end, finished, SPAN)
    assert found is not None
    assert found.tolist() == [5.0, 2.0, 10.0]


def test_rare_reports_tell_no_lag():
    log_end = offsets((100, 10), (103, 20))
    assert lag_of_reports(log_end, offsets((97.9, 5)), SPAN) is None
    assert lag_of_reports(log_end, offsets((98, 5)), SPAN) is not None


def test_no_report_before_the_first_look_tells_no_lag():
    assert lag_of_reports(offsets((100, 10)), offsets((101, 5)), SPAN) is None
    assert lag_of_reports(offsets((100, 10)), offsets(), SPAN) is None
    assert lag_of_reports(offsets(), offsets((100, 5)), SPAN) is None
