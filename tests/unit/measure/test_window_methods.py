from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.window_methods import (
    METHODS,
    Hopping,
    Windowed,
    additions,
    cheapest,
    choices,
    cost_us,
)

hoppings = st.tuples(st.integers(1, 60), st.integers(1, 60)).map(
    lambda sizes: Hopping(max(sizes), min(sizes))
)


def ends_of(windows: Hopping, time_ms: int) -> list[int]:
    starts = range(time_ms - windows.size_ms + 1, time_ms + 1)
    return [start + windows.size_ms for start in starts if start % windows.slide_ms == 0]


@given(hoppings, st.integers(0, 10_000))
def test_a_time_lies_in_the_windows_that_begin_before_it_and_end_after_it(
    windows: Hopping, time_ms: int
) -> None:
    assert list(windows.ends_ms(time_ms)) == ends_of(windows, time_ms)
    assert windows.first_end_ms(time_ms) == ends_of(windows, time_ms)[0]


@given(hoppings, st.lists(st.integers(0, 500), min_size=1))
def test_all_times_of_a_slice_lie_in_the_same_windows(windows: Hopping, times: list[int]) -> None:
    starts = windows.slice_starts_ms(np.array(times)).tolist()
    for time_ms, start in zip(times, starts, strict=True):
        assert start <= time_ms
        assert ends_of(windows, start) == ends_of(windows, time_ms)


@given(hoppings)
def test_a_slide_has_two_slices_at_most_where_windows_begin_and_end(windows: Hopping) -> None:
    slide = np.arange(10 * windows.slide_ms, 11 * windows.slide_ms)
    assert len(set(windows.slice_starts_ms(slide).tolist())) == windows.slices("pairs") <= 2


def test_what_is_added_to_windows() -> None:
    windows = Hopping(60_000, 1_000)
    often, rarely = Windowed(windows, 100.0, 1e4), Windowed(windows, 1.0, 1e4)
    assert additions("bucket", often) == pytest.approx(60 + 2 * 0.8)
    assert additions("bucket", rarely) == 60 + 2 * 80
    assert additions("slices", often) == additions("pairs", often) == pytest.approx(0.8)
    assert additions("slices", rarely) == 80
    nearly_coprime = Windowed(Hopping(61_000, 60_000), 1.0, 1e4)
    assert nearly_coprime.windows.slices("slices") == 60
    rows = 61 / 60 + 20
    assert additions("slices", nearly_coprime) == pytest.approx(rows)
    assert additions("pairs", nearly_coprime) == pytest.approx(rows / 30)


@given(hoppings, st.floats(0.01, 1e5), st.floats(1, 1e7))
def test_the_cheapest_method_costs_least(windows: Hopping, of_key: float, rate: float) -> None:
    windowed = Windowed(windows, of_key, rate)
    costs = {method: cost_us(method, windowed) for method in METHODS}
    assert costs[cheapest(windowed)] == min(costs.values())


@pytest.mark.parametrize(
    ("overlap", "of_key", "method"),
    [
        (1, 1000.0, "bucket"),
        (5, 50.0, "bucket"),
        (60, 50.0, "slices"),
        (60, 1.0, "pairs"),
    ],
)
def test_what_is_taken(overlap: int, of_key: float, method: str) -> None:
    assert cheapest(Windowed(Hopping(1_000 * overlap, 1_000), of_key, 10_000)) == method


def test_a_second_aggregation_costs_less_for_a_record_the_more_there_are_in_a_batch() -> None:
    windows = Hopping(5_000, 1_000)
    assert cheapest(Windowed(windows, 1e4, 10_000)) == "bucket"
    assert cheapest(Windowed(windows, 1e4, 2_000_000)) == "slices"


def test_pairs_need_a_store_on_disk() -> None:
    assert choices("memory") == ["bucket", "slices"]
    assert choices("rocksdb") == choices(None) == list(METHODS)
