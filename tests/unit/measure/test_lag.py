import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure import lag
from streamgauge.spec.values import Span

SPAN = Span(100_000, 160_000)


def test_each_point_of_the_grid_has_the_newest_value():
    at_s = np.array([99.0, 104.9, 105.0, 130.0])
    found = lag.on_grid(at_s, np.array([7.0, 8.0, -9.0, 10.0]), SPAN)
    assert list(found[:3]) == [7.0, 0.0, 0.0], "what is below 0 was seen at two moments"
    assert list(found[5:]) == [0.0] + [10.0] * 6
    assert len(found) == 12


def test_before_the_first_value_nothing_is_known():
    found = lag.on_grid(np.array([112.0]), np.array([3.0]), SPAN)
    assert np.isnan(found[:3]).all()
    assert (found[3:] == 3.0).all()
    assert np.isnan(lag.on_grid(np.array([]), np.array([]), SPAN)).all()


@given(
    st.floats(-1000, 1000),
    st.floats(0, 1e6),
    st.integers(lag.FEWEST_POINTS, 60),
)
def test_a_line_is_found_exactly(slope, start, points):
    found = lag.line(start + slope * lag.STEP_S * np.arange(points))
    assert found is not None
    assert found.slope == pytest.approx(slope, abs=1e-6)
    assert found.sawtooth == pytest.approx(0, abs=1e-3)


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=40), st.data())
def test_the_slope_is_that_of_least_squares_with_gaps_left_out(values, data):
    lags = np.array(values)
    for place in data.draw(st.sets(st.integers(0, len(values) - 1), max_size=len(values) - 3)):
        lags[place] = np.nan
    there = ~np.isnan(lags)
    expected = np.polyfit(lag.STEP_S * np.flatnonzero(there), lags[there], 1)[0]
    found = lag.line(lags)
    assert found is not None
    assert found.slope == pytest.approx(expected, abs=1e-6 * (1 + abs(lags[there]).max()))


def test_too_few_points_have_no_line_and_a_few_more_no_limits():
    assert lag.line(np.array([1.0, 2.0, np.nan])) is None
    assert lag.line(np.arange(7.0)) is not None
    assert lag.limits(np.arange(7.0), 0.9) is None
    assert lag.limits(np.arange(8.0), 0.9) == pytest.approx((0.2, 0.2))


def test_a_sawtooth_is_seen_as_high_as_it_is():
    found = lag.line(np.tile([0.0, 500.0, 1000.0], 16))
    assert found is not None
    assert abs(found.slope) < 5
    assert found.sawtooth == pytest.approx(1000, rel=0.1)


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
def test_the_limits_hold_the_slope_nearly_as_often_as_they_say(alike):
    rng = np.random.default_rng(1)
    held = []
    for _ in range(300):
        noise = np.zeros(48)
        last = rng.normal() / np.sqrt(1 - alike**2)
        for place in range(48):
            noise[place] = last = alike * last + rng.normal()
        low, high = lag.limits(15.0 * np.arange(48) + 10 * noise, 0.9) or (0.0, 0.0)
        held.append(low <= 3.0 <= high)
    assert np.mean(held) > 0.8
