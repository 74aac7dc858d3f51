from collections.abc import Iterable
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.workloads.espbench import times


def lines(sizes: Iterable[int], count: int, first_order: int = 1) -> list[bytes]:
    return list(chain.from_iterable(times.blocks(sizes, count, first_order)))


Sizes = st.lists(st.integers(1, 15), min_size=1, max_size=30)


def test_each_line_of_an_order_is_entered_and_left_in_turn() -> None:
    assert lines([2, 1], 6) == [
        b"1\t1\t1\t0",
        b"1\t1\t1\t1",
        b"1\t2\t1\t0",
        b"1\t2\t1\t1",
        b"2\t1\t1\t0",
        b"2\t1\t1\t1",
    ]


def test_orders_may_begin_elsewhere() -> None:
    assert lines([1], 1, first_order=900) == [b"900\t1\t1\t0"]


@given(Sizes, st.data())
def test_gives_as_many_as_asked_and_never_one_twice(sizes: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 2 * sum(sizes)))
    events = lines(sizes, count)
    assert len(events) == len(set(events)) == count
    assert events == lines(sizes, 2 * sum(sizes))[:count]


@given(Sizes)
def test_refuses_more_than_there_are(sizes: list[int]) -> None:
    events = 2 * sum(sizes)
    with pytest.raises(UsageError, match=f"{events + 1} production times are wanted") as caught:
        lines(sizes, events + 1)
    assert "warehouses" in (caught.value.remedy or "")


def test_no_orders_give_no_events() -> None:
    assert lines([], 0) == []
    with pytest.raises(UsageError):
        lines([], 1)


def test_no_more_orders_are_taken_than_are_rendered() -> None:
    endless = times.blocks(repeat(15), 10**12)
    sizes = [len(next(endless)) for _ in range(3)]
    assert max(sizes) < 10_000
    assert lines(repeat(3), sum(sizes)) == lines([3] * sum(sizes), sum(sizes))
