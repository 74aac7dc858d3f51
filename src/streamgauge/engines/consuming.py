"""What our own engines' processes share: read all inputs, report progress, end on SIGTERM."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from streamgauge.engines.job import ProgressWriter
from streamgauge.spec.transport import Endpoints
from streamgauge.transports.flight import QueueClient

RECORDS = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("value", pa.binary()),
    ]
)
_CONSUMER = {
    "enable.auto.commit": "false",
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": "100",
    "fetch.min.bytes": "1",
}
_LOOK_S = 0.005
_REPORT_S = 1.0
_IDLE_REPORT_S = 0.1


class Inputs(Protocol):
    """All input partitions of a job, read from their beginning."""

    def read(self, timeout_s: float = 0.1) -> Sequence[Message] | pa.Table:
        """Return what is there, after waiting no longer than that for any."""

    def positions(self) -> dict[str, list[int]]:
        """Return the next offset to be read of every partition, by stream."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def open_inputs(endpoints: Endpoints) -> Inputs:
    """Return the inputs of a job, whichever way they come."""
    return QueueInputs(endpoints) if endpoints.flight else TopicInputs(endpoints)


class QueueInputs:
    """Pulls from the driver's queues; what was read counts as done with the next read."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._client = QueueClient(endpoints.queues)
        self._streams = {queue: stream for stream, queue in endpoints.inputs.items()}
        self._read = {queue: [0] * endpoints.partitions for queue in self._streams}

    def read(self, timeout_s: float = 0.1, most: int = 500_000) -> pa.Table:
        """Return what is there, after waiting no longer than that for any."""
        self._client.commit(self._read)
        deadline = time.monotonic() + timeout_s
        while (ends := self._client.state()["ends"]) == self._read:
            if time.monotonic() > deadline:
                return RECORDS.empty_table()
            time.sleep(_LOOK_S)
        tables = [
            self._pull(queue, partition, min(end, start + most))
            for queue, starts in self._read.items()
            for partition, (start, end) in enumerate(zip(starts, ends[queue], strict=True))
            if end > start
        ]
        return pa.concat_tables(tables, promote_options="default")

    def positions(self) -> dict[str, list[int]]:
        """Return the next offset to be read of every partition, by stream."""
        return {self._streams[queue]: list(ends) for queue, ends in self._read.items()}

    def close(self) -> None:
        """Stop reading."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pull(self, queue: str, partition: int, stop: int) -> pa.Table:
        start = self._read[queue][partition]
        found = pa.Table.from_batches(self._client.read(queue, partition, start, stop))
        self._read[queue][partition] = stop
        partitions = pa.repeat(pa.scalar(partition, pa.int32()), len(found))
        offsets = pa.array(np.arange(start, stop))
        return found.append_column("partition", partitions).append_column("offset", offsets)


class TopicInputs:
    """Reads topics."""

    def __init__(self, endpoints: Endpoints) -> None:
        settings = endpoints.broker.client_settings()
        self._consumer = Consumer({**settings, **_CONSUMER, "group.id": endpoints.group})
        self._streams = {topic: stream for stream, topic in endpoints.inputs.items()}
        partitions = range(endpoints.partitions)
        self._assigned = [TopicPartition(t, p, 0) for t in self._streams for p in partitions]
        self._consumer.assign(self._assigned)

    def read(self, timeout_s: float = 0.1, most: int = 10_000) -> list[Message]:
        """Return what is there, after waiting no longer than that for any.

        Raises:
            KafkaException: The broker does not let us read.
        """
        messages = self._consumer.consume(1, timeout_s)
        if messages:
            messages += self._consumer.consume(most - 1, 0)
        for message in messages:
            error = message.error()
            if error is not None:
                raise KafkaException(error)
        return messages

    def positions(self) -> dict[str, list[int]]:
        """Return the next offset to be read of every partition, by stream."""
        found: dict[str, list[int]] = {stream: [] for stream in self._streams.values()}
        for at in self._consumer.position(self._assigned):
            found[self._streams[at.topic]].append(max(at.offset, 0))
        return found

    def close(self) -> None:
        """Stop reading."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Reporter:
    """Reports progress once a second, and soon when there is nothing left to do."""

    def __init__(self, writer: ProgressWriter, clock: Callable[[], float] = time.monotonic) -> None:
        self._writer = writer
        self._clock = clock
        self._reported_s = float("-inf")
        self._worked = False

    def due(self, idle: bool) -> bool:
        """Tell whether it is time for a report, having just worked or found nothing to do."""
        self._worked = self._worked or not idle
        limit_s = _IDLE_REPORT_S if idle and self._worked else _REPORT_S
        return self._clock() - self._reported_s >= limit_s

    def report(self, finished: dict[str, list[int]], idle: bool) -> None:
        """Report now."""
        self._writer.report(finished, idle)
        self._reported_s, self._worked = self._clock(), False


def stop_on_sigterm() -> threading.Event:
    """Return what is set once this process is asked to end."""
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    signal.signal(signal.SIGTERM, stop)
    return stopped


def table(messages: Sequence[Message] | pa.Table) -> pa.Table:
    """Bring what was read into the columns that answers are computed from."""
    if isinstance(messages, pa.Table):
        return _written(messages)
    return pa.table(
        {
            "partition": pa.array([m.partition() for m in messages], pa.int32()),
            "offset": pa.array([m.offset() for m in messages], pa.int64()),
            "timestamp": pa.array([m.timestamp()[1] for m in messages], pa.int64()),
            "value": pa.array([m.value() for m in messages], pa.binary()),
        },
        schema=RECORDS,
    )


def _written(records: pa.Table) -> pa.Table:
    """Write the columns of records as their value, which is how a broker carries them."""
    if not len(records):
        return RECORDS.empty_table()
    names = [name for name in records.column_names if name not in ("partition", "offset")]
    cells = [pc.cast(records[name], pa.string()) for name in names]
    value = pc.binary_join_element_wise(*cells, ";", null_handling="skip")
    return pa.table(
        {
            "partition": records["partition"],
            "offset": records["offset"],
            "timestamp": records["intended"],
            "value": pc.cast(value, pa.binary()),
        },
        schema=RECORDS,
    )
