from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.load.recording import read_arrivals

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def write_parquet(path: Path, **columns: pa.Array) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_time_stamps_of_any_unit(tmp_path: Path, unit: str) -> None:
    stamps = pa.array([BEGIN, BEGIN + timedelta(seconds=2)], pa.timestamp(unit, "UTC"))
    file = write_parquet(tmp_path / "trace.parquet", id=pa.array([1, 2]), seen=stamps)
    assert read_arrivals(file).tolist() == [0, 2000]
    assert read_arrivals(file, speed=4).tolist() == [0, 500]
    assert read_arrivals(file, speed=0.5).tolist() == [0, 4000]


def test_the_column_called_time_wins_and_numbers_are_seconds(tmp_path: Path) -> None:
    stamps = pa.array([BEGIN, BEGIN], pa.timestamp("ms"))
    file = write_parquet(tmp_path / "trace.parquet", seen=stamps, time=pa.array([5.0, 5.25]))
    assert read_arrivals(file).tolist() == [0, 250]


def test_csv_with_times_of_day_or_seconds(tmp_path: Path) -> None:
    stamps = tmp_path / "stamps.csv"
    stamps.write_text("id,at\n1,2026-03-01T00:00:00.000Z\n2,2026-03-01T00:00:00.125Z\n")
    assert read_arrivals(stamps).tolist() == [0, 125]
    seconds = tmp_path / "seconds.csv"
    seconds.write_text("time\n1\n3\n")
    assert read_arrivals(seconds).tolist() == [0, 2000]


@given(st.lists(st.integers(0, 10**7), min_size=2), st.integers(-(10**6), 10**6))
def test_only_the_distances_count(gaps_ms: list[int], shift_s: int) -> None:
    times_ms = np.cumsum(gaps_ms)
    with TemporaryDirectory() as folder:
        stamps = pa.array(times_ms + 1000 * shift_s, pa.timestamp("ms"))
        file = write_parquet(Path(folder) / "trace.parquet", at=stamps)
        assert read_arrivals(file).tolist() == (times_ms - times_ms[0]).tolist()


@pytest.mark.parametrize(
    ("times", "speed"),
    [([-(2**62), 2**62], 1.0), ([-(2**63) + 1, 2**63 - 1], 1.0), ([0, 10**9], 1e-20)],
)
def test_a_recording_that_nobody_can_count_is_refused(
    tmp_path: Path, times: list[int], speed: float
) -> None:
    stamps = pa.array(times, pa.int64()).cast(pa.timestamp("ns"))
    file = write_parquet(tmp_path / "trace.parquet", at=stamps)
    with pytest.raises(UsageError, match="lasts too long"):
        read_arrivals(file, speed)


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("a.csv", "", "Empty CSV"),
        ("a.csv", "time\n", "holds no times"),
        ("a.csv", "time\n1\n", "has 1 times"),
        ("a.csv", "id,name\n1,x\n2,y\n", "no column `time` among: id, name"),
        ("a.csv", "time\nearly\nlate\n", "holds no times"),
        ("a.csv", "time\n1\n2\n1.5\n", "row 3 is earlier"),
        ("a.csv", "time,x\n1,1\n,1\n3,1\n", "1 rows without a time"),
        ("a.csv", "time\n1e300\n2e300\n", "out of range"),
        ("a.parquet", "no parquet", "cannot read the recording"),
        ("a.txt", "1\n2\n", "neither .parquet nor .csv"),
    ],
)
def test_files_without_usable_times_are_refused(
    tmp_path: Path, name: str, text: str, part: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_arrivals(file)
    assert part in caught.value.message
