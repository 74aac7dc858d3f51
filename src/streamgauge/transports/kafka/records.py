"""Read the records of a topic back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import RECORDS
from streamgauge.services.kafka.admin import EARLIEST, LATEST, LOG, NEWEST, KafkaAdmin
from streamgauge.services.kafka.endpoint import KafkaEndpoint

CHUNK = 10_000
"""Records read at once."""
_CONSUMER: dict[str, str | int | bool] = {
    "group.id": "streamgauge-validation",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "queued.max.messages.kbytes": 16 * 1024,
}


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
    in_columns: ClassVar[bool] = False

    def extent(self) -> list[tuple[int, int]]:
        """Return the first and the next offset of each partition."""
        low, high = self._ask(EARLIEST), self._ask(LATEST)
        ends = self.ends or [offset for offset, _ in high]
        # Partitions that an engine added after that have no end, and do not count.
        return [(low[p][0], min(high[p][0], end)) for p, end in enumerate(ends)]

    def newest_ms(self) -> int | None:
        """Return the greatest append time, None without records."""
        newest = (at_ms for _, at_ms in self._ask(NEWEST))
        return max((at_ms for at_ms in newest if at_ms >= 0), default=None)

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the records with offsets from `start` up to `stop`, all of them, in order.

        Raises:
            TrialInvalid: The broker or a record is gone, or records carry another time.
        """
        settings = {**self.endpoint.client_settings(), **_CONSUMER, "enable.partition.eof": True}
        consumer = Consumer(settings, logger=LOG)
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
        """Return whether no more records come, though offsets may: a transaction's end has one."""
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

    def _ask(self, what: OffsetSpec) -> list[tuple[int, int]]:
        """Ask the broker for an offset of each partition, with its time where that is known."""
        try:
            return KafkaAdmin(self.endpoint).offsets(self.topic, what)
        except TrialInvalid as error:
            raise self._error(error.message) from error

    def _error(self, reason: str) -> TrialInvalid:
        return TrialInvalid(f"topic {self.topic} cannot be read back: {reason}")
