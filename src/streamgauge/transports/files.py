"""Records of a trial that are kept in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import RECORDS
from streamgauge.spec.transport import Records

_CHUNK = 10_000
"""Records read at once."""
_ROW_GROUP = 50_000


@dataclass(frozen=True)
class FileRecords:
    """Records kept in a file."""

    path: Path
    ends: tuple[int, ...] | None = None
    """Next offset of each partition at which to stop; None for all that is there."""
    gaps: bool = False
    """Whether offsets may have no record: transactions of an engine leave some out."""
    in_columns: ClassVar[bool] = False

    def extent(self) -> list[tuple[int, int]]:
        """Return the first and the next offset of each partition."""
        found: dict[int, tuple[int, int]] = {}
        for group in self._groups():
            low, high = found.get(group.partition, (group.start, group.stop))
            found[group.partition] = min(low, group.start), max(high, group.stop)
        all_of_it = [found.get(p, (0, 0)) for p in range(max(found, default=-1) + 1)]
        if self.ends is None:
            return all_of_it
        return [
            (low, min(high, end)) for (low, high), end in zip(all_of_it, self.ends, strict=False)
        ]

    def newest_ms(self) -> int | None:
        """Return the greatest append time, None without records."""
        return max((group.newest_ms for group in self._groups()), default=None)

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the records with offsets from `start` up to `stop`, all of them, in order.

        Raises:
            TrialInvalid: The file lacks records.
        """
        at = start
        with pq.ParquetFile(self.path) as file:
            for group in self._groups():
                if group.partition != partition or group.stop <= start or group.start >= stop:
                    continue
                rows = file.read_row_group(group.number, columns=RECORDS.names)
                inside = (pc.field("offset") >= start) & (pc.field("offset") < stop)
                for batch in rows.filter(inside).cast(RECORDS).to_batches(_CHUNK):
                    at += len(batch)
                    yield batch
        if at != stop and not self.gaps:
            raise TrialInvalid(f"{self.path} lacks records of partition {partition}")

    def _groups(self) -> list[_RowGroup]:
        """List the row groups; each holds records of one partition, as `keep` wrote them."""
        try:
            metadata = pq.read_metadata(self.path)
            return [_RowGroup.of(metadata, i) for i in range(metadata.num_row_groups)]
        except (OSError, pa.ArrowInvalid, KeyError) as error:
            raise TrialInvalid(f"cannot read the kept records {self.path}: {error}") from error


@dataclass(frozen=True)
class _RowGroup:
    number: int
    partition: int
    start: int
    stop: int
    newest_ms: int

    @classmethod
    def of(cls, metadata: pq.FileMetaData, number: int) -> _RowGroup:
        group = metadata.row_group(number)
        columns = (group.column(i) for i in range(group.num_columns))
        ranges = {column.path_in_schema: column.statistics for column in columns}
        offsets = ranges["offset"]
        return cls(
            number=number,
            partition=ranges["partition"].min,
            start=offsets.min,
            stop=offsets.max + 1,
            newest_ms=ranges["timestamp"].max,
        )


def keep(records: Records, path: Path) -> None:
    """Write all records to a file that `FileRecords` reads, a bounded number at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, RECORDS, compression="zstd") as writer:
        for partition, (start, stop) in enumerate(records.extent()):
            for group in range(start, stop, _ROW_GROUP):
                batches = records.read(partition, group, min(group + _ROW_GROUP, stop))
                if len(table := pa.Table.from_batches(batches, RECORDS)):
                    writer.write_table(table)
