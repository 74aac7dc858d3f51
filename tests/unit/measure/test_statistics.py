from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.statistics import medians, named, percentile, summarize
from streamgauge.metrics import STATISTICS, metric

PERCENTILES = {
    "p50": Fraction(50, 100),
    "p90": Fraction(90, 100),
    "p95": Fraction(95, 100),
    "p99": Fraction(99, 100),
    "p99_9": Fraction(999, 1000),
}
seconds = st.floats(-10, 1e6).map(lambda value: round(value, 3))


@given(st.lists(seconds, min_size=1, max_size=1100))
def test_percentiles_follow_the_definition(values):
    summary = summarize(np.array(values))
    n = len(values)
    assert {name for name in summary if name.startswith("p")} == {
        name for name, p in PERCENTILES.items() if n * (1 - p) >= 1
    }
    for name in PERCENTILES.keys() & summary.keys():
        at_least = [v for v in values if sum(w <= v for w in values) >= n * PERCENTILES[name]]
        assert summary[name] == min(at_least)


@given(st.lists(seconds, min_size=1))
def test_extremes_and_mean_are_always_told(values):
    summary = summarize(np.array(values))
    assert (summary["min"], summary["max"]) == (min(values), max(values))
    assert summary["mean"] == pytest.approx(sum(values) / len(values), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "fewest"), [("p50", 2), ("p90", 10), ("p95", 20), ("p99", 100), ("p99_9", 1000)]
)
def test_a_percentile_appears_exactly_when_the_sample_carries_it(name, fewest):
    assert name not in summarize(np.arange(fewest - 1.0))
    assert name in summarize(np.arange(float(fewest)))


def test_nearest_rank_returns_values_of_the_sample():
    summary = summarize(np.arange(1.0, 101.0)[::-1])
    assert summary == {
        "p50": 50.0,
        "p90": 90.0,
        "p95": 95.0,
        "p99": 99.0,
        "min": 1.0,
        "max": 100.0,
        "mean": 50.5,
    }


def test_an_empty_sample_says_nothing():
    assert summarize(np.array([])) == {}
    assert named("latency", np.array([])) == {}
    with pytest.raises(ValueError, match="empty"):
        percentile(np.array([]), 950)


def test_names_are_those_of_the_declared_metrics():
    names = named("latency", np.arange(1000.0))
    assert set(names) == {f"latency.{statistic}" for statistic in STATISTICS}
    assert all(metric(name).unit == "s" for name in names)


def test_a_percentile_to_decide_with_needs_no_size():
    assert percentile(np.array([3.0, 1.0, 2.0]), 950) == 3.0
    assert percentile(np.arange(1.0, 101.0), 950) == 95.0


@given(st.integers(1, 20).flatmap(lambda n: st.lists(st.lists(seconds, min_size=n, max_size=n))))
def test_medians_are_those_of_numpy(rows):
    samples = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 1)
    assert medians(samples).tolist() == np.median(samples, axis=1).tolist()
