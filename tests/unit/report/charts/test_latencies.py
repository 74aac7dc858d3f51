import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure import latency, statistics
from streamgauge.measure.matching import LATENCIES
from streamgauge.report.charts.data.latencies import Histogram, Latencies, nines, pooled
from streamgauge.report.charts.data.time_frame import Frame

ORIGIN = 1_794_848_000_000
FRAME = Frame(origin_ms=ORIGIN, start_s=-5, measured_s=20, end_s=24, bin_s=1)


def write(
    file: Path, due_s: list[float], took_ms: list[int], window_end: list[int] | None = None
) -> Latencies:
    intended = ORIGIN + np.round(np.array(due_s) * 1000).astype(np.int64)
    rows = len(intended)
    table = pa.table(
        {
            "key": pa.array([str(row) for row in range(rows)]),
            "intended": intended,
            "appended": intended + 1,
            "emitted": intended + 1 + np.array(took_ms, dtype=np.int64),
            "window_end": pa.array(window_end) if window_end else pa.nulls(rows, pa.int64()),
            "correct": [True] * rows,
            "event": pa.nulls(rows, pa.int64()),
            "ingested": pa.nulls(rows, pa.int64()),
        },
        schema=LATENCIES,
    )
    pq.write_table(table, file)
    return Latencies(file, FRAME, 1000 if window_end else None)


@pytest.fixture
def many(tmp_path: Path) -> tuple[Latencies, np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    due_s = random.uniform(-5, 20, 5000).round(3)
    took = random.lognormal(4, 1, 5000).astype(np.int64)
    return write(tmp_path / "latency.parquet", due_s.tolist(), took.tolist()), due_s, took


def test_percentiles_of_each_second_are_those_of_the_statistics(many) -> None:
    latencies, due_s, took = many
    shown = latencies.over_time("latency")
    assert shown["t"] == list(range(-5, 20))
    for place, second in enumerate(shown["t"]):
        inside = took[np.floor(due_s) == second].astype(np.float64)
        expected = statistics.summarize(inside)
        assert {name: shown[name][place] for name in ("p50", "p95", "p99", "max")} == {
            name: expected.get(name) for name in ("p50", "p95", "p99", "max")
        }


def test_a_percentile_that_a_second_does_not_carry_is_left_out(tmp_path: Path) -> None:
    latencies = write(tmp_path / "l.parquet", [0.1, 1.1, 1.2], [7, 8, 9])
    shown = latencies.over_time("latency")
    assert (shown["p50"], shown["p99"], shown["max"]) == ([None, 8], [None, None], [7, 9])


def test_event_time_counts_from_when_an_input_was_due(tmp_path: Path) -> None:
    latencies = write(tmp_path / "l.parquet", [0.1], [7])
    assert latencies.over_time("event_latency")["max"] == [8]
    assert latencies.kinds() == ["latency", "event_latency"]


def test_markers_before_the_load_are_left_out(tmp_path: Path) -> None:
    latencies = write(tmp_path / "l.parquet", [-8.0, 1.0], [12_000, 50])
    assert latencies.over_time("latency")["max"] == [50]


def test_few_single_latencies_are_all_shown_as_they_are(tmp_path: Path) -> None:
    latencies = write(tmp_path / "l.parquet", [3.0, 1.25, 1.0], [5, 0, -2])
    assert latencies.singles(2000) == {"t": [1.0, 1.25, 3.0], "latency": [-2, 0, 5]}


def test_many_single_latencies_are_thinned_but_keep_the_slowest(many) -> None:
    latencies, _, took = many
    shown = latencies.singles(300)
    assert 200 < len(shown["t"]) <= 300
    assert max(shown["latency"]) == took.max()
    assert shown["t"] == sorted(shown["t"])


def test_a_pause_in_the_outputs_is_a_rate_of_zero(tmp_path: Path) -> None:
    latencies = write(tmp_path / "l.parquet", [-1.5, -1.4, 2.0], [10, 10, 10])
    assert latencies.emitted() == {"t": [-2, -1, 0, 1, 2], "emitted": [2, 0, 0, 0, 1]}


def test_the_histogram_has_exactly_what_the_statistics_cover(many) -> None:
    latencies, due_s, _ = many
    counted = latency.measured(latencies.table, FRAME.measured)
    assert latencies.histogram().total == len(counted) == int((due_s >= 0).sum())


def test_of_windows_the_whole_ones_are_counted(tmp_path: Path) -> None:
    ends_s = np.arange(-3.5, 22.5)
    due = (ends_s - 0.01).tolist()
    ends = (ORIGIN + ends_s * 1000).astype(np.int64).tolist()
    latencies = write(tmp_path / "l.parquet", due, [5] * len(due), ends)
    counted = latency.measured(latencies.table, FRAME.measured, window_ms=1000)
    assert latencies.histogram().total == len(counted) == 19
    assert latencies.kinds() == ["latency", "event_latency", "window_latency"]


@given(st.lists(st.integers(-5, 10_000), min_size=1, max_size=3000))
def test_a_curve_of_nines_ends_where_the_sample_does(values: list[int]) -> None:
    ms, count = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    at, took = nines(Histogram(ms, count))
    assert at[-1] == pytest.approx(math.log10(len(values)), abs=1e-3)
    assert took == sorted(took)
    assert set(took) <= set(values)
    if len(values) >= 10:
        p90 = took[at.index(1.0)] if 1.0 in at else None
        assert p90 in (None, statistics.percentile(np.array(values, dtype=np.float64), 900))


def test_an_empty_sample_has_no_curve() -> None:
    empty = np.array([], dtype=np.int64)
    assert nines(Histogram(empty, empty)) == ([], [])


def test_pooling_adds_counts_up() -> None:
    one = Histogram(np.array([1, 5]), np.array([2, 1]))
    other = Histogram(np.array([5, 9]), np.array([4, 1]))
    both = pooled([one, other])
    assert (both.ms.tolist(), both.count.tolist()) == ([1, 5, 9], [2, 5, 1])
