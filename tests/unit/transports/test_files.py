from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import RECORDS
from streamgauge.transports.files import FileRecords, keep


@dataclass(frozen=True)
class MadeRecords:
    highs: tuple[int, ...]

    def extent(self) -> list[tuple[int, int]]:
        return [(0, high) for high in self.highs]

    def newest_ms(self) -> int | None:
        return None

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        for first in range(start, stop, 9_000):
            offsets = range(first, min(first + 9_000, stop))
            yield pa.record_batch(
                [
                    pa.array([partition] * len(offsets), pa.int32()),
                    pa.array(offsets, pa.int64()),
                    pa.array([1_000 + offset for offset in offsets], pa.int64()),
                    pa.array([b"%d" % offset for offset in offsets], pa.binary()),
                ],
                schema=RECORDS,
            )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> FileRecords:
    path = tmp_path_factory.mktemp("kept") / "records" / "sensor1.parquet"
    keep(MadeRecords((0, 120_000, 3)), path)
    return FileRecords(path)


def test_kept_records_know_their_extent(kept: FileRecords) -> None:
    assert kept.extent() == [(0, 0), (0, 120_000), (0, 3)]
    assert kept.newest_ms() == 1_000 + 119_999
    assert pickle.loads(pickle.dumps(kept)) == kept


@pytest.mark.parametrize(("start", "stop"), [(0, 120_000), (49_999, 50_001), (99_000, 99_500)])
def test_kept_records_are_read_range_by_range(kept: FileRecords, start: int, stop: int) -> None:
    table = pa.Table.from_batches(kept.read(1, start, stop), RECORDS)
    assert table["offset"].to_pylist() == list(range(start, stop))
    assert table["value"][0].as_py() == b"%d" % start
    assert set(table["partition"].to_pylist()) == {1}


def test_records_that_are_not_there_are_an_error(kept: FileRecords) -> None:
    with pytest.raises(TrialInvalid, match="lacks records of partition 2"):
        list(kept.read(2, 0, 4))


def test_no_records_are_kept_too(tmp_path: Path) -> None:
    keep(MadeRecords(()), tmp_path / "none.parquet")
    none = FileRecords(tmp_path / "none.parquet")
    assert none.extent() == []
    assert none.newest_ms() is None


@pytest.mark.parametrize("content", [None, b"", b"no parquet at all"])
def test_a_file_that_is_none_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "broken.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TrialInvalid, match=r"broken\.parquet"):
        FileRecords(path).extent()
