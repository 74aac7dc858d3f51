import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.workloads.espbench import times

Sizes = st.lists(st.integers(1, 15), min_size=1, max_size=30)


def test_each_line_of_an_order_is_entered_and_left_in_turn() -> None:
    assert times.lines([2, 1], 6) == [
        b"1\t1\t1\t0",
        b"1\t1\t1\t1",
        b"1\t2\t1\t0",
        b"1\t2\t1\t1",
        b"2\t1\t1\t0",
        b"2\t1\t1\t1",
    ]


def test_orders_may_begin_elsewhere() -> None:
    assert times.lines([1], 1, first_order=900) == [b"900\t1\t1\t0"]


@given(Sizes, st.data())
def test_gives_as_many_as_asked_and_never_one_twice(sizes: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 2 * sum(sizes)))
    events = times.lines(sizes, count)
    assert len(events) == len(set(events)) == count
    assert events == times.lines(sizes, 2 * sum(sizes))[:count]


@given(Sizes)
def test_refuses_more_than_there_are(sizes: list[int]) -> None:
    events = 2 * sum(sizes)
    with pytest.raises(UsageError, match=f"{events + 1} production times asked for") as caught:
        times.lines(sizes, events + 1)
    assert "warehouses" in (caught.value.remedy or "")


def test_no_orders_give_no_events() -> None:
    assert times.lines([], 0) == []
    with pytest.raises(UsageError):
        times.lines([], 1)
