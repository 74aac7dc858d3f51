"""State of one's own, without Spark: what is put out, and what is kept."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from streamgauge.workloads.ospbench.spark_state import Seconds


class Handle:
    """The state of one point, with the names that Spark gives to what it can do."""

    def __init__(self) -> None:
        self.parts: dict[tuple[int], tuple[Any, ...]] = {}
        self.timers: set[int] = set()
        self.getMapState = lambda *_: self
        self.getValue = self.parts.get
        self.updateValue = self.parts.__setitem__
        self.removeKey = self.parts.pop
        self.registerTimer = self.timers.add


class Timer:
    def __init__(self, at_ms: int) -> None:
        self.getExpiryTimeInMs = lambda: at_ms


def lane(second: int, lanes: int = 2, publish: int = 0) -> Row:
    return Row(
        second=1000 * second, lanes=lanes, flow=60 * second, speed=80.0 + second, publish=publish
    )


def processor(*backs: int) -> tuple[Seconds, Handle]:
    made, handle = Seconds(backs), Handle()
    made.init(handle)  # type: ignore[arg-type]
    return made, handle


def put_out(made: Seconds, rows: list[Row]) -> list[dict[str, Any]]:
    found = made.handleInputRows(("0/P01",), iter(rows), None)  # type: ignore[arg-type]
    return [row.asDict() for row in found]


def test_a_second_is_put_out_when_its_last_lane_comes() -> None:
    made, _ = processor(0)
    assert put_out(made, [lane(5, publish=9)]) == []
    assert put_out(made, [lane(5, publish=7)]) == [
        {"second": 5000, "point": "0/P01", "lanes0": 2, "flow0": 600, "speed0": 85.0, "publish": 9}
    ]
    assert put_out(made, [lane(6), lane(7), lane(6)])[0]["second"] == 6000


@given(
    order=st.permutations([second for second in range(6) for _ in range(2)]),
    cuts=st.lists(st.integers(0, 12), max_size=4).map(sorted),
    back=st.sampled_from([(1, 2), (2, 3)]),
)
def test_each_comparison_is_put_out_once_in_whatever_order_lanes_come(
    order: list[int], cuts: list[int], back: tuple[int, int]
) -> None:
    made, _ = processor(0, *back)
    edges = [0, *cuts, len(order)]
    found = []
    for begin, end in pairwise(edges):
        found += put_out(made, [lane(second) for second in order[begin:end]])
    assert sorted(row["second"] for row in found) == [1000 * s for s in range(back[1], 6)]
    for row in found:
        for each in (0, *back):
            assert row[f"flow{each}"] == 120 * (row["second"] // 1000 - each)


@pytest.mark.parametrize("backs", [(0,), (0, 1, 2)])
def test_a_second_is_forgotten_when_nothing_can_come_any_more(backs: tuple[int, ...]) -> None:
    made, handle = processor(*backs)
    put_out(made, [lane(5), lane(6), lane(6)])
    assert handle.timers == {1000 * (second + 1 + backs[-1]) for second in (5, 6)}
    for at_ms in handle.timers:
        assert list(made.handleExpiredTimer(("0/P01",), None, Timer(at_ms))) == []  # type: ignore[arg-type]
    assert handle.parts == {}
