import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.measure.trend import block_medians, trend
from streamgauge.spec.values import Span

SPAN = Span(1_000_000, 1_300_000)
AT_MS = np.arange(SPAN.start_ms, SPAN.end_ms, 50)
AT_S = (AT_MS - SPAN.start_ms) / 1000


def noise(sd_s, seed=0):
    return np.random.default_rng(seed).exponential(sd_s, len(AT_MS))


@settings(max_examples=30)
@given(st.floats(-0.5, 0.5), st.floats(0, 100))
def test_a_line_has_its_own_slope(slope, level):
    found = trend(AT_MS, level + slope * AT_S, SPAN)
    assert found.slope == pytest.approx(slope, abs=1e-9)
    assert found.low == pytest.approx(slope, abs=1e-9)
    assert found.high == pytest.approx(slope, abs=1e-9)
    assert found.blocks == 15


@settings(max_examples=30)
@given(st.floats(0.015, 0.3), st.integers(0, 1000))
def test_a_rising_line_with_noise_is_a_trend(slope, seed):
    found = trend(AT_MS, slope * AT_S + noise(0.5, seed), SPAN)
    assert found.decision == "trend"
    assert found.slope == pytest.approx(slope, abs=0.003)


@settings(max_examples=30)
@given(st.floats(-0.3, 0.005), st.integers(0, 1000))
def test_a_level_or_falling_line_with_noise_is_none(slope, seed):
    assert trend(AT_MS, 100 + slope * AT_S + noise(0.5, seed), SPAN).decision == "none"


@pytest.mark.parametrize("period_s", [1, 4, 10, 20])
def test_a_sawtooth_of_micro_batches_is_no_trend(period_s):
    assert trend(AT_MS, period_s - AT_S % period_s, SPAN).decision == "none"


def test_one_outlying_block_is_no_trend():
    values = np.where((AT_S >= 240) & (AT_S < 260), 60.0, 1.0)
    assert trend(AT_MS, values, SPAN).decision == "none"


def test_wild_blocks_leave_it_undecided():
    blocks = np.random.default_rng(3).normal(0, 3, 15)[(AT_S // 20).astype(int)]
    found = trend(AT_MS, 0.01 * AT_S + blocks, SPAN)
    assert found.decision == "undecided"
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.01 < found.high


@pytest.mark.parametrize(("seconds", "blocks"), [(180, 9), (200, 10)])
def test_fewer_than_ten_blocks_leave_it_undecided(seconds, blocks):
    early = AT_MS[: seconds * 20]
    found = trend(early, np.ones(len(early)), SPAN)
    assert found.blocks == blocks
    assert found.decision == ("undecided" if blocks < 10 else "none")
    assert (found.slope is None) == (blocks < 10)


def test_blocks_without_outputs_are_left_out():
    kept = (AT_S < 100) | (AT_S >= 160)
    found = trend(AT_MS[kept], 0.05 * AT_S[kept], SPAN)
    assert found.blocks == 12
    assert found.slope == pytest.approx(0.05, abs=1e-4)


def test_without_outputs_nothing_is_decided():
    found = trend(np.array([], dtype=np.int64), np.array([]), SPAN)
    assert (found.blocks, found.decision) == (0, "undecided")


def test_medians_are_of_the_outputs_in_the_block():
    at_ms = np.array([SPAN.start_ms, SPAN.start_ms + 19_999, SPAN.end_ms - 1, SPAN.end_ms])
    middles, medians = block_medians(at_ms, np.array([1.0, 3.0, 7.0, 9.0]), SPAN)
    assert middles.tolist() == [10.0, 290.0]
    assert medians.tolist() == [2.0, 7.0]


def test_the_same_sample_gives_the_same_interval():
    values = noise(1.0)
    assert trend(AT_MS, values, SPAN) == trend(AT_MS, values, SPAN)


def test_the_interval_mostly_holds_the_true_slope():
    middles_ms = SPAN.start_ms + 10_000 + 20_000 * np.arange(15)
    samples = np.random.default_rng(1).normal(size=(100, 15))
    found = [trend(middles_ms, sample, SPAN) for sample in samples]
    assert sum(one.low <= 0 <= one.high for one in found) >= 77
