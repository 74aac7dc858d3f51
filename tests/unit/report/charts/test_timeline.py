from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.report.charts.data.time_frame import Frame
from streamgauge.report.charts.data.timeline import (
    Timeline,
    behind_series,
    read_ticks,
    sender_rates,
)

ORIGIN = 1_794_848_000_000
FRAME = Frame(origin_ms=ORIGIN, start_s=-10, measured_s=60, end_s=64, bin_s=1)


def write(tmp_path: Path, frame: Frame = FRAME, **columns: object) -> Timeline:
    pq.write_table(pa.table(columns), tmp_path / "timeline.parquet")
    return Timeline(tmp_path / "timeline.parquet", frame)


def seconds() -> np.ndarray:
    return ORIGIN / 1000 + np.arange(-10, 64) + 0.3


def test_the_rate_of_ingestion_is_the_growth_of_the_log(tmp_path: Path) -> None:
    timeline = write(tmp_path, at=seconds(), log_end=500.0 * np.arange(74))
    shown = timeline.ingested()
    assert shown["t"] == list(range(-10, 64))
    assert shown["ingested"] == [None, *[500.0] * 72, None]  # not sampled to the edge


def test_throughput_is_what_was_pulled_and_what_was_finished(tmp_path: Path) -> None:
    pulled, finished = 300.0 * np.arange(74), 200.0 * np.arange(74)
    timeline = write(tmp_path, at=seconds(), handed=pulled, finished=finished)
    shown = timeline.throughput(timely=True)
    assert list(shown) == ["t", "pulled", "finished"]
    assert (shown["pulled"][1:-1], shown["finished"][1:-1]) == ([300.0] * 72, [200.0] * 72)
    assert list(timeline.throughput(timely=False)) == ["t", "pulled"]
    assert write(tmp_path, at=seconds(), finished=finished).throughput(timely=False) == {}


def test_the_queue_is_what_nobody_has_pulled(tmp_path: Path) -> None:
    offered = 300.0 * np.arange(74)
    shown = write(tmp_path, at=seconds(), log_end=offered, handed=offered - 50).queue()
    assert shown["queue"] == [50.0] * 74
    assert write(tmp_path, at=seconds(), log_end=offered).queue() == {}


def test_rates_are_taken_between_the_times_at_which_was_asked(tmp_path: Path) -> None:
    asked = seconds() + np.where(np.arange(74) % 2, 0.5, 0.0)
    log_end = 1000.0 * (asked - asked[0])
    shown = write(tmp_path, at=seconds(), log_end_at=asked, log_end=log_end).ingested()
    assert shown["ingested"][1:-1] == pytest.approx([1000.0] * 72)


def test_a_growing_lag_has_its_slope(tmp_path: Path) -> None:
    log_end = 1000.0 * np.arange(74)
    lag = 100 + 20.0 * np.arange(74)
    series = write(tmp_path, at=seconds(), log_end=log_end, finished=log_end - lag).lag()
    assert series is not None
    assert series.fitted.slope == pytest.approx(20)
    assert series.line == pytest.approx((100 + 20 * 9.7, 100 + 20 * 69.7), abs=5)


def test_an_engine_that_tells_its_offsets_seldom_has_no_lag(tmp_path: Path) -> None:
    log_end = 1000.0 * np.arange(74)
    seldom = np.floor(np.arange(74) / 20) * 20_000.0
    assert write(tmp_path, at=seconds(), log_end=log_end, finished=seldom).lag() is None
    assert write(tmp_path, at=seconds(), log_end=log_end).lag() is None


def test_what_was_not_sampled_is_a_gap(tmp_path: Path) -> None:
    cpu = [None if second == 5 else 0.5 for second in range(74)]
    shown = write(tmp_path, at=seconds(), **{"cpu.engine": cpu, "cpu.broker": cpu}).by_role("cpu")
    assert list(shown) == ["t", "engine", "broker"]
    assert shown["engine"][5] is None
    assert shown["engine"][6] == 0.5


def test_roles_that_nobody_knows_come_after_those_that_are_known(tmp_path: Path) -> None:
    cpu = np.full(74, 0.5)
    names = ("cpu.t", "cpu.cache", "cpu.broker", "cpu.queue.driver", "cpu.engine")
    shown = write(tmp_path, at=seconds(), **dict.fromkeys(names, cpu)).by_role("cpu")
    assert list(shown) == ["t", "engine", "broker", "cache", "queue.driver", "“t”"]
    assert shown["t"] == list(range(-10, 64))
    assert shown["cache"] == [0.5] * 74


def test_a_part_of_another_role_is_not_counted_twice(tmp_path: Path) -> None:
    cpu = np.full(74, 0.5)
    names = ("cpu.engine.driver", "cpu.engine", "cpu.sender")
    timeline = write(tmp_path, at=seconds(), **dict.fromkeys(names, cpu))
    assert list(timeline.by_role("cpu")) == ["t", "engine", "sender"]


def test_long_trials_are_told_in_wider_bins(tmp_path: Path) -> None:
    wide = Frame(origin_ms=ORIGIN, start_s=-10, measured_s=60, end_s=64, bin_s=10)
    shown = write(tmp_path, wide, at=seconds(), **{"cpu.engine": np.arange(74.0)}).by_role("cpu")
    assert shown["t"] == [-10, 0, 10, 20, 30, 40, 50, 60]
    assert shown["engine"][1] == 14.5


def test_interfaces_without_traffic_are_left_out(tmp_path: Path) -> None:
    timeline = write(
        tmp_path,
        at=seconds(),
        **{"network.lo": np.full(74, 1024.0**2), "network.eth0": np.zeros(74)},
    )
    assert list(timeline.network()) == ["t", "lo"]
    assert set(timeline.network()["lo"]) == {1.0}


def test_the_sender_s_ticks_become_rates(tmp_path: Path) -> None:
    at_ms = ORIGIN - 10_000 + 100 * (np.arange(600) + 1)
    due = 100 * (np.arange(600) + 1)
    pq.write_table(pa.table({"at_ms": at_ms, "due": due, "sent": due // 2}), tmp_path / "s.parquet")
    shown = sender_rates([read_ticks(tmp_path / "s.parquet")], FRAME)
    assert shown["t"] == list(range(-10, 64))
    assert shown["offered"] == [1000.0] * 60 + [0.0] * 14
    assert shown["sent"][:60] == pytest.approx([500.0] * 60, abs=25)


def test_the_rates_of_several_senders_are_added() -> None:
    at_ms = ORIGIN - 10_000 + 100 * (np.arange(600) + 1)
    one, other = (
        pa.table({"at_ms": at_ms + offset_ms, "due": due, "sent": due})
        for offset_ms, due in ((0, 100 * (np.arange(600) + 1)), (40, 50 * (np.arange(600) + 1)))
    )
    shown = sender_rates([one, other], FRAME)
    assert shown["offered"][1:59] == pytest.approx([1500.0] * 58)


def test_what_lies_before_and_after_the_trial_is_left_out(tmp_path: Path) -> None:
    at = ORIGIN / 1000 + np.arange(-30, 90) + 0.3
    shown = write(tmp_path, at=at, **{"cpu.engine": np.ones(120)}).by_role("cpu")
    assert shown["t"] == list(range(-10, 64))


def test_behind_is_the_age_of_the_oldest_unanswered_input() -> None:
    due = ORIGIN + np.arange(-10_000, 60_000, 50)
    no_windows = pa.nulls(len(due), pa.int64())
    table = pa.table({"intended": due, "emitted": due + 2500, "window_end": no_windows})
    series = behind_series(table, FRAME)
    inside = (series.at_s > 0) & (series.at_s < 50)
    assert series.values[inside] == pytest.approx(2.5, abs=0.06)
