"""Read the records of a trial back, from Kafka or from files kept with the run."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import RECORDS
from streamgauge.spec.endpoints import KafkaEndpoint

CHUNK = 10_000
"""Records read at once."""
_ROW_GROUP = 50_000
_REQUEST_S = 10.0
_CONSUMER: dict[str, str | int | bool] = {
    "group.id": "streamgauge-validation",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "queued.max.messages.kbytes": 16 * 1024,
}
_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # else Python prints what librdkafka says of each attempt


class Records(Protocol):
    """All records of one stream or output; instances are sent to other processes."""

    def extent(self) -> list[tuple[int, int]]:
        """Return the first and the next offset of each partition."""

    def newest_ms(self) -> int | None:
        """Return the greatest append time, None without records."""

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the records with offsets from `start` up to `stop`, all of them, in order."""


@dataclass(frozen=True)
class KafkaRecords:
    """The records in a topic."""

    endpoint: KafkaEndpoint
    topic: str
    ends: tuple[int, ...] | None = None
    """Next offset of each partition at which to stop; None for all that is there."""
    gaps: bool = False
    """Whether offsets may have no record: transactions of an engine leave some out."""
    patience_s: float = 30.0
    """How long to wait when nothing arrives."""

    def extent(self) -> list[tuple[int, int]]:
        """Return the first and the next offset of each partition."""
        low = self._ask(OffsetSpec.earliest())
        high = self._ask(OffsetSpec.latest())
        ends = self.ends or [high[p][0] for p in sorted(high)]
        # Partitions that an engine added after that have no end, and do not count.
        return [(low[p][0], min(high[p][0], end)) for p, end in enumerate(ends)]

    def newest_ms(self) -> int | None:
        """Return the greatest append time, None without records."""
        newest = (at_ms for _, at_ms in self._ask(OffsetSpec.max_timestamp()).values())
        return max((at_ms for at_ms in newest if at_ms >= 0), default=None)

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the records with offsets from `start` up to `stop`, all of them, in order.

        Raises:
            TrialInvalid: The broker or a record is gone, or records carry another time.
        """
        settings = {**self.endpoint.client_settings(), **_CONSUMER, "enable.partition.eof": True}
        consumer = Consumer(settings, logger=_log)
        with contextlib.closing(consumer):
            consumer.assign([TopicPartition(self.topic, partition, start)])
            at, last_s = start, time.monotonic()
            while at < stop:
                messages = consumer.consume(min(CHUNK, stop - at), timeout=1.0)
                records = [each for each in messages if each.error() is None]
                if records:
                    yield self._batch(records, partition, at, stop)
                    at, last_s = (records[-1].offset() or 0) + 1, time.monotonic()
                elif time.monotonic() - last_s > self.patience_s:
                    raise self._error(f"nothing came for {self.patience_s:g} s at offset {at}")
                if self._at_end(messages):
                    return

    def _at_end(self, messages: Sequence[Message]) -> bool:
        """Tell whether no more records come, though offsets may: those of a transaction's end."""
        errors = [error for each in messages if (error := each.error()) is not None]
        for error in errors:
            if error.code() != KafkaError._PARTITION_EOF:
                raise self._error(str(error))
        return bool(errors) and self.gaps

    def _batch(
        self, messages: Sequence[Message], partition: int, start: int, stop: int
    ) -> pa.RecordBatch:
        offsets = [message.offset() for message in messages]
        if not self.gaps and offsets != list(range(start, start + len(messages))):
            raise self._error(f"partition {partition} has a gap after offset {start}")
        stamps = [message.timestamp() for message in messages]
        if any(kind != TIMESTAMP_LOG_APPEND_TIME for kind, _ in stamps):
            raise self._error("its records do not carry the broker's append time")
        batch = pa.record_batch(
            [
                pa.repeat(pa.scalar(partition, pa.int32()), len(messages)),
                pa.array(offsets, pa.int64()),
                pa.array([at_ms for _, at_ms in stamps], pa.int64()),
                pa.array([message.value() for message in messages], pa.binary()),
            ],
            schema=RECORDS,
        )
        return batch.filter(pc.field("offset") < stop)

    def _ask(self, what: OffsetSpec) -> dict[int, tuple[int, int]]:
        """Ask the broker for an offset of each partition, with its time where that is known."""
        admin = AdminClient(self.endpoint.client_settings(), logger=_log)
        try:
            topic = admin.list_topics(self.topic, timeout=_REQUEST_S).topics[self.topic]
            if topic.error is not None:
                raise self._error(str(topic.error))
            asked = {TopicPartition(self.topic, p): what for p in topic.partitions}
            answered = admin.list_offsets(asked, request_timeout=_REQUEST_S)
            found = {at.partition: future.result() for at, future in answered.items()}
        except KafkaException as error:
            raise self._error(str(error)) from error
        return {p: (result.offset, result.timestamp) for p, result in found.items()}

    def _error(self, reason: str) -> TrialInvalid:
        return TrialInvalid(f"topic {self.topic} cannot be read back: {reason}")


@dataclass(frozen=True)
class ParquetRecords:
    """Records kept in a file."""

    path: Path
    ends: tuple[int, ...] | None = None
    """Next offset of each partition at which to stop; None for all that is there."""
    gaps: bool = False
    """Whether offsets may have no record: transactions of an engine leave some out."""

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
                for batch in rows.filter(inside).cast(RECORDS).to_batches(CHUNK):
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
    """Write all records to a file that `ParquetRecords` reads, a bounded number at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, RECORDS, compression="zstd") as writer:
        for partition, (start, stop) in enumerate(records.extent()):
            for group in range(start, stop, _ROW_GROUP):
                batches = records.read(partition, group, min(group + _ROW_GROUP, stop))
                if len(table := pa.Table.from_batches(batches, RECORDS)):
                    writer.write_table(table)
