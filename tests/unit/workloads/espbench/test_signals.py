"""The properties of the published recording, on a million rows of several seeds."""

import numpy as np
import pytest

from streamgauge.workloads.espbench import sensors, signals
from streamgauge.workloads.espbench.answers.sos import outlier_probabilities
from streamgauge.workloads.espbench.signals import ROWS_PER_SECOND, Signals

ROWS = 1_000_000
WINDOW = 500


@pytest.fixture(scope="module", params=[(0, 1), (1, 1), (7, 3), (20_260, 12)], ids=str)
def rows(request: pytest.FixtureRequest) -> Signals:
    seed, workplace = request.param
    return sensors.table(ROWS, workplace, seed)


def test_share_above_the_error_limit(rows: Signals) -> None:
    assert 0.0040 <= np.mean(rows.mf01 > 14_963) <= 0.0050


def test_share_below_the_standby_limit(rows: Signals) -> None:
    assert 0.08 <= np.mean(rows.mf03 < 8_105) <= 0.09


@pytest.mark.slow
def test_share_of_stochastic_outliers(rows: Signals) -> None:
    points = np.column_stack((rows.mf01, rows.mf02)).astype(np.float64)
    windows = points.reshape(-1, WINDOW, 2)[::40]
    outliers = [np.mean(outlier_probabilities(window) >= 0.5) for window in windows]
    assert 0.06 <= np.mean(outliers) <= 0.08


def test_mf01_has_the_published_distribution(rows: Signals) -> None:
    assert np.median(rows.mf01) == pytest.approx(13_049, abs=25)
    assert np.std(rows.mf01) == pytest.approx(360, abs=15)
    assert rows.mf01.min() == pytest.approx(12_400, abs=50)
    assert rows.mf01.max() == pytest.approx(19_500, abs=500)


def test_mf01_changes_slowly(rows: Signals) -> None:
    assert np.corrcoef(rows.mf01[1:], rows.mf01[:-1])[0, 1] >= 0.99


def test_mf02_follows_mf01(rows: Signals) -> None:
    rest = rows.mf02 - (1.132 * rows.mf01 - 398)
    assert np.mean(rest) == pytest.approx(0, abs=0.2)
    assert np.std(rest) == pytest.approx(31, abs=0.2)
    assert abs(np.corrcoef(rest[1:], rest[:-1])[0, 1]) < 0.01


def test_mf03_has_the_published_distribution(rows: Signals) -> None:
    assert np.mean((rows.mf03 >= 7_900) & (rows.mf03 <= 8_800)) > 0.95
    assert 7_275 <= rows.mf03.min() < 7_350
    assert 9_300 < rows.mf03.max() <= 9_390


def test_mf03_is_uncorrelated_with_mf01(rows: Signals) -> None:
    assert abs(np.corrcoef(rows.mf01, rows.mf03)[0, 1]) < 0.05


def test_mf03_holds_plateaus_of_one_to_three_seconds(rows: Signals) -> None:
    ends = np.flatnonzero(np.diff(rows.step(0, ROWS))) + 1
    lengths = np.diff(ends)
    assert lengths.min() >= ROWS_PER_SECOND
    assert lengths.max() <= 3 * ROWS_PER_SECOND
    within = np.concatenate([part - np.median(part) for part in np.split(rows.mf03, ends)])
    assert np.std(within) < 6


def test_pulses_rise_linearly_and_decay_by_halves(rows: Signals) -> None:
    highest = int(rows.mf01.argmax())  # two pulses on top of each other
    single = [pulse for pulse in _pulses(rows) if abs(pulse.peak - highest) > 60]
    assert len(single) > 100
    for pulse in single:
        assert 1_950 <= pulse.height <= 5_050
        assert 10 <= pulse.rise_rows <= 28
        assert 14 <= pulse.half_life_rows <= 26
        middle = rows.mf01[pulse.peak - pulse.rise_rows // 2] - rows.mf01[pulse.foot]
        expected = pulse.height * (1 - pulse.rise_rows // 2 / pulse.rise_rows)
        assert middle == pytest.approx(expected, abs=30)


@pytest.mark.parametrize("count", [1, 2, 99, 500, 3_999, 20_000])
def test_short_rings_keep_to_the_ranges(count: int) -> None:
    rows = sensors.table(count, 1, 5)
    assert len(rows.mf01) == len(rows.mf02) == len(rows.mf03) == count
    assert 12_400 <= rows.mf01.min() <= rows.mf01.max() <= 19_500
    assert 7_275 <= rows.mf03.min() <= rows.mf03.max() <= 9_390


@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_thousand_rows_have_about_the_same_shares(seed: int) -> None:
    rows = sensors.table(100_000, 1, seed)
    assert 0.0038 <= np.mean(rows.mf01 > signals.MF01_ERROR_LIMIT) <= 0.0052
    assert 0.078 <= np.mean(rows.mf03 < signals.MF03_STANDBY_LIMIT) <= 0.092


class Pulse:
    """A pulse as found in the rows: from its foot steeply up to its peak, then down."""

    def __init__(self, mf01: np.ndarray, foot: int, peak: int) -> None:
        self.foot, self.peak = foot, peak
        self.height = int(mf01[peak] - mf01[foot])
        self.rise_rows = peak - foot
        after = mf01[peak : peak + 60] - mf01[foot]
        self.half_life_rows = int(np.argmax(after <= self.height / 2))


def _pulses(rows: Signals) -> list[Pulse]:
    steep = np.diff(rows.mf01) > 40
    edges = np.flatnonzero(np.diff(np.concatenate(([False], steep, [False])).astype(int)))
    return [Pulse(rows.mf01, foot, peak) for foot, peak in edges.reshape(-1, 2)]


@pytest.mark.parametrize("count", [1, 999, 1_000, 5_001, 40_000])
def test_pieces_change_nothing(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sensors.table(count, 1, 5)
    monkeypatch.setattr(signals, "_ROWS_PER_PIECE", 1_000)
    pieces = sensors.table(count, 1, 5)
    for name in ("mf01", "mf02", "mf03", "step_ends"):
        assert np.array_equal(getattr(pieces, name), getattr(whole, name))
