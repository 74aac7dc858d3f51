import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.load.schedule import Constant

rates = st.one_of(
    st.integers(1, 2_000_000).map(float), st.sampled_from([0.1, 0.5, 1 / 3, 1 / 60, 2.5, 999.9])
)


@given(rates, st.integers(0, 10**9))
def test_due_counts_exactly_the_records_whose_time_has_come(rate: float, elapsed_ms: int) -> None:
    schedule = Constant(rate)
    due = schedule.due(elapsed_ms)
    assert due == 0 or schedule.intended_ms(due - 1) <= elapsed_ms
    assert schedule.intended_ms(due) > elapsed_ms


@given(rates, st.integers(0, 10**10))
def test_arrays_and_single_records_agree(rate: float, record: int) -> None:
    schedule = Constant(rate)
    records = np.array([record, record + 1, record + 1000], dtype=np.int64)
    assert schedule.intended_ms(records).tolist() == [
        schedule.intended_ms(int(each)) for each in records
    ]


def test_the_first_record_is_due_at_the_start_and_nothing_before() -> None:
    assert Constant(1000.0).due(-1) == 0
    assert Constant(1000.0).due(0) == 1
    assert Constant(1000.0).intended_ms(0) == 0


def test_there_is_no_drift_over_days() -> None:
    seconds = 10 * 86_400
    assert Constant(0.1).intended_ms(seconds // 10) == seconds * 1000
    assert Constant(250_000.0).intended_ms(250_000 * seconds) == seconds * 1000
    assert Constant(3.0).intended_ms(3 * seconds) == seconds * 1000


def test_intended_times_are_rounded_down() -> None:
    assert [Constant(3.0).intended_ms(i) for i in range(4)] == [0, 333, 666, 1000]


def test_a_rate_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="sends nothing"):
        Constant(0.0)
