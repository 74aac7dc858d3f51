"""Topics as our own engines, in Python, read and write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import pyarrow as pa
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from streamgauge.measure.columns import RECORDS
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints

_CONSUMER = {
    "enable.auto.commit": "false",
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": "100",
    "fetch.min.bytes": "1",
}


class Messages(list[Message]):
    """Records as a consumer gives them."""

    def table(self) -> pa.Table:
        """Bring them into the columns that answers are computed from."""
        return pa.table(
            {
                "partition": pa.array([m.partition() for m in self], pa.int32()),
                "offset": pa.array([m.offset() for m in self], pa.int64()),
                "timestamp": pa.array([m.timestamp()[1] for m in self], pa.int64()),
                "value": pa.array([m.value() for m in self], pa.binary()),
            },
            schema=RECORDS,
        )


class TopicReader:
    """Reads all input topics from their beginning."""

    def __init__(self, endpoints: Endpoints) -> None:
        settings = KafkaEndpoint.of(endpoints.via).client_settings()
        self._consumer = Consumer({**settings, **_CONSUMER, "group.id": endpoints.group})
        self._streams = {topic: stream for stream, topic in endpoints.inputs.items()}
        partitions = range(endpoints.partitions)
        self._inputs = [TopicPartition(t, p, 0) for t in self._streams for p in partitions]
        others = endpoints.configuration.values()
        self._consumer.assign(
            [*self._inputs, *(TopicPartition(t, p, 0) for t in others for p in partitions)]
        )

    def read(self, timeout_s: float = 0.1, most: int = 10_000) -> Messages:
        """Return the available records, after waiting at most that long for any.

        Raises:
            KafkaException: The broker does not let us read.
        """
        messages = Messages(self._consumer.consume(1, timeout_s))
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
        for at in self._consumer.position(self._inputs):
            found[self._streams[at.topic]].append(max(at.offset, 0))
        return found

    def close(self) -> None:
        """Stop reading."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class TopicOutlet:
    """Writes to the output topic."""

    def __init__(self, endpoints: Endpoints) -> None:
        assert endpoints.output is not None
        self._topic, self._partitions = endpoints.output, endpoints.partitions
        client = KafkaEndpoint.of(endpoints.via)
        self._producer = Producer(client.client_settings(linger_ms=0, enable_idempotence=True))
        self._sent = 0

    def put(self, values: Sequence[bytes]) -> None:
        """Send values to all partitions in turn."""
        for value in values:
            self._producer.produce(self._topic, value, partition=self._sent % self._partitions)
            self._sent += 1
        self._producer.poll(0)

    def flush(self) -> None:
        """Return when everything is in the topic."""
        self._producer.flush()
