"""The harness's way to the topics of a trial: create them, read their ends, follow, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Self

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from streamgauge.errors import TrialInvalid
from streamgauge.services.kafka.admin import LOG, NO_GROUP_YET, REQUEST_S, KafkaAdmin
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.records import Record

_KEEPING = {"retention.ms": "-1", "retention.bytes": "-1"}
_FORGETFUL = {
    "segment.bytes": str(128 << 20),
    "file.delete.delay.ms": "1000",
}
_READ_ONLY = {
    "group.id": "streamgauge-observer",
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": "50",
}


class KafkaChannel:
    """Looks at the topics of one trial."""

    def __init__(self, endpoints: Endpoints, remembered_bytes: int) -> None:
        self._endpoints = endpoints
        self._remembered_bytes = remembered_bytes
        """At least this much of each partition is kept in a topic that forgets."""
        endpoint = KafkaEndpoint.of(endpoints.via)
        self._settings = endpoint.client_settings()
        self._admin = KafkaAdmin(endpoint)

    def create(self, *, forgets: bool = False) -> None:
        """Create the trial's topics and wait until they can be used."""
        remembered = {"retention.bytes": str(self._remembered_bytes)}
        settings = {**_KEEPING, **({**_FORGETFUL, **remembered} if forgets else {})}
        topics = [*self._endpoints.places.values()]
        self._admin.create(topics, self._endpoints.partitions, settings)

    def delete(self) -> None:
        """Delete the trial's topics and consumer group; what is already gone is not an error."""
        self._admin.delete([*self._endpoints.places.values()], [self._endpoints.group])

    def log_end(self, name: str) -> list[int]:
        """Return the next offset to be written of every partition."""
        return self._admin.log_end(name)

    def newest(self, name: str, *, timeout_s: float = 1.0) -> tuple[int, bytes] | None:
        """Return append time and value of the newest record; None when there is none.

        A sample, for showing how far things are: it looks at the last record of each partition.
        """
        ends = enumerate(self.log_end(name))
        last = [TopicPartition(name, p, end - 1) for p, end in ends if end]
        if not last:
            return None
        self._sampler.assign(last)
        records = _records(self._sampler.consume(len(last), timeout_s))
        self._sampler.unassign()
        newest = max(records, key=lambda record: record.timestamp_ms, default=None)
        return None if newest is None else (newest.timestamp_ms, newest.value)

    def follow(self, name: str, starts: Sequence[int]) -> Tail:
        """Follow a topic from the given offset of each partition."""
        return Tail(self._consumer(), name, starts)

    def committed(self) -> Mapping[tuple[str, int], int]:
        """Return the offsets that the trial's consumer group has committed."""
        streams = {topic: stream for stream, topic in self._endpoints.inputs.items()}
        asked = [TopicPartition(t, p) for t in streams for p in range(self._endpoints.partitions)]
        # Not asked through the admin client: librdkafka (2.16) dereferences a null pointer there
        # when the broker has not yet made room for groups.
        try:
            found = self._group.committed(asked, timeout=REQUEST_S)
        except KafkaException as error:
            if error.args[0].code() in NO_GROUP_YET:
                return {}
            group = self._endpoints.group
            raise TrialInvalid(f"cannot ask for the offsets of group {group}: {error}") from error
        return {(streams[at.topic], at.partition): at.offset for at in found if at.offset >= 0}

    def handed(self) -> int | None:
        """Leave it to the engine: a broker does not report what was read."""
        return None

    def close(self) -> None:
        """Close what was opened to look at the topics."""
        for name in ("_sampler", "_group"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def _sampler(self) -> Consumer:
        return self._consumer()

    @cached_property
    def _group(self) -> Consumer:
        """Return a consumer that asks for the offsets of the engine's group but never joins it."""
        settings = {**self._settings, **_READ_ONLY, "group.id": self._endpoints.group}
        return Consumer(settings, logger=LOG)

    def _consumer(self) -> Consumer:
        return Consumer({**self._settings, **_READ_ONLY}, logger=LOG)


class Tail:
    """Follows a topic; each `read` returns what came since the last."""

    def __init__(self, consumer: Consumer, topic: str, start_offsets: Sequence[int]) -> None:
        self._consumer = consumer
        consumer.assign(
            [TopicPartition(topic, p, offset) for p, offset in enumerate(start_offsets)]
        )

    def read(self, timeout_s: float = 0.1, *, most: int = 10_000) -> list[Record]:
        """Return the available records, after waiting at most that long for any.

        Raises:
            TrialInvalid: The broker does not let us read.
        """
        first = _records(self._consumer.consume(1, timeout_s))
        return first + _records(self._consumer.consume(most, 0)) if first else []

    def close(self) -> None:
        """Stop following."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _records(messages: Sequence[Message]) -> list[Record]:
    for message in messages:
        problem = message.error()
        if problem is not None and not problem.retriable():
            raise TrialInvalid(f"cannot read topic {message.topic()}: {problem}")
    return [_record(message) for message in messages if message.error() is None]


def _record(message: Message) -> Record:
    return Record(
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp_ms=message.timestamp()[1],
        value=message.value() or b"",
    )
