from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.window_methods import (
    METHODS,
    Hopping,
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
    often, rarely = 100.0, 1.0
    windows = Hopping(60_000, 1_000)
    assert additions("bucket", windows, often) == additions("bucket", windows, rarely) == 60
    assert additions("slices", windows, often) == pytest.approx(0.65)
    assert additions("slices", windows, rarely) == 65
    nearly_coprime = Hopping(61_000, 60_000)
    assert nearly_coprime.slices("slices") == 60
    of_slice = 61 / 60 + 5
    assert additions("slices", nearly_coprime, 1.0) == pytest.approx(of_slice)
    assert additions("pairs", nearly_coprime, 1.0) == pytest.approx(of_slice / 30)


@given(hoppings, st.floats(0.01, 1e5))
def test_the_cheapest_method_costs_least(windows: Hopping, per_second: float) -> None:
    costs = {method: cost_us(method, windows, per_second) for method in METHODS}
    assert costs[cheapest(windows, per_second)] == min(costs.values())


def test_windows_that_hardly_overlap_go_into_buckets_and_many_of_a_busy_key_do_not() -> None:
    assert cheapest(Hopping(2_000, 2_000), 1000.0) == "bucket"
    assert cheapest(Hopping(60_000, 1_000), 50.0) != "bucket"
    assert cheapest(Hopping(60_000, 1_000), 1.0) == "bucket"


def test_pairs_need_a_store_on_disk() -> None:
    assert choices("memory") == ["bucket", "slices"]
    assert choices("rocksdb") == choices(None) == list(METHODS)
