import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.comparison.ratio import Ratio, ratio

VALUES = st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=8).map(np.array)
TICK = st.sampled_from([0.0, 0.001])


def limits(found: Ratio) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def inverse(value: float) -> float:
    return math.inf if value == 0 else 1 / value


@given(VALUES, VALUES, TICK)
def test_to_swap_the_sides_inverts_ratio_and_interval(one, two, tick):
    there, back = ratio(one, two, tick), ratio(two, one, tick)
    assert back.value == pytest.approx(1 / there.value)
    low, high = limits(there)
    assert limits(back) == pytest.approx((inverse(high), inverse(low)))


@given(VALUES, TICK)
def test_a_sample_does_not_differ_from_itself(values, tick):
    found = ratio(values, values, tick)
    low, high = limits(found)
    assert found.value == 1
    assert low <= 1 <= high


@given(VALUES, VALUES, st.floats(0.01, 100))
def test_to_scale_one_side_scales_the_ratio(one, two, factor):
    plain, scaled = ratio(one, two), ratio(one, two * factor)
    assert scaled.value == pytest.approx(plain.value * factor)
    assert limits(scaled) == pytest.approx([factor * each for each in limits(plain)])


@given(VALUES, VALUES, st.randoms(use_true_random=False))
def test_the_order_of_trials_does_not_matter(one, two, chance):
    shuffled = list(one)
    chance.shuffle(shuffled)
    assert ratio(np.array(shuffled), two) == ratio(one, two)


@given(VALUES, VALUES)
def test_the_ratio_lies_in_its_interval_and_that_inside_the_extremes(one, two):
    found = ratio(one, two)
    low, high = limits(found)
    assert low <= found.value <= high
    assert two.min() / one.max() <= low * (1 + 1e-9)
    assert high <= two.max() / one.min() * (1 + 1e-9)


@pytest.mark.parametrize(("bases", "others"), [(1, 1), (2, 9), (9, 2)])
def test_few_trials_give_a_ratio_without_an_interval(bases, others):
    assert ratio(np.full(bases, 2.0), np.full(others, 3.0)) == Ratio(1.5)


def test_one_tick_of_the_clock_is_no_difference_and_two_are():
    two_ms, three_ms, four_ms = (np.full(3, each) for each in (0.002, 0.003, 0.004))
    low, high = limits(ratio(two_ms, three_ms, tick=0.001))
    assert low == pytest.approx(1)
    low, high = limits(ratio(two_ms, four_ms, tick=0.001))
    assert (low, high) == pytest.approx((3.5 / 2.5, 4.5 / 1.5))


def test_below_the_clock_nothing_is_told_apart():
    zero = np.zeros(3)
    assert ratio(zero, zero, tick=0.001) == Ratio(1.0, 0.0, math.inf)
    assert ratio(zero, np.array([-0.001, 0.0, 0.0]), tick=0.001) == Ratio(1.0, 0.0, math.inf)


def test_against_nothing_the_ratio_is_infinite():
    found = ratio(np.zeros(3), np.full(3, 0.005), tick=0.001)
    assert found == Ratio(math.inf, pytest.approx(9.0), math.inf)
    assert ratio(np.zeros(3), np.zeros(3)) == Ratio(1.0, 1.0, 1.0)


@pytest.mark.parametrize(("trials", "most"), [(3, 0.14), (5, 0.12), (10, 0.09)])
def test_how_often_equal_systems_are_called_different(trials, most):
    """Three trials a side fall apart by chance once in ten: 2 of the 20 ways to split six."""
    draw = np.random.default_rng(7)
    different = 0
    for _ in range(300):
        one, two = draw.lognormal(0, 0.1, (2, trials))
        low, high = limits(ratio(one, two))
        different += not low <= 1 <= high
    assert different / 300 <= most
