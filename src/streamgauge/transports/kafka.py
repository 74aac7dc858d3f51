"""Topics of a trial: create and verify, look at their ends, follow, delete."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from streamgauge.errors import NotReady, StreamgaugeError, TrialInvalid
from streamgauge.spec.endpoints import KafkaEndpoint
from streamgauge.spec.transport import Endpoints

TIMESTAMPS = "message.timestamp.type"
_TOPIC_SETTINGS = {TIMESTAMPS: "LogAppendTime", "retention.ms": "-1", "retention.bytes": "-1"}
FORGET_BYTES = 1 << 30
"""Of each partition at least so much is kept of a topic that forgets."""
RECORD_BYTES = 300
"""Upper bound of what a record takes in a topic of the workloads so far."""
_FORGETFUL = {
    "retention.bytes": str(FORGET_BYTES),
    "segment.bytes": str(128 << 20),
    "file.delete.delay.ms": "1000",
}
_REQUEST_S = 10.0
_READ_ONLY = {
    "group.id": "streamgauge-observer",
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": "50",
}
_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # else Python prints what librdkafka says
T = TypeVar("T")

_NO_GROUP_YET = (
    KafkaError.GROUP_ID_NOT_FOUND,
    # The broker makes room for groups when it is asked for the first one.
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)


@dataclass(frozen=True)
class Record:
    """One record as it lies in a topic."""

    partition: int
    offset: int
    timestamp_ms: int
    """When the broker appended it."""
    value: bytes


class KafkaTransport:
    """Carries a trial's records through one Kafka cluster."""

    def __init__(self, endpoint: KafkaEndpoint) -> None:
        self.endpoint = endpoint
        self._settings = dict(endpoint.client_settings())
        self._counts: dict[str, int] = {}
        self._groups: dict[str, Consumer] = {}
        """Consumers that ask for the offsets of a group, and never join it."""

    def create(
        self, endpoints: Endpoints, *, forgets: bool = False, timeout_s: float = 30.0
    ) -> None:
        """Create the trial's topics and wait until they can be used.

        Args:
            endpoints: Their names and partitions.
            forgets: Whether old records may go, so that the disk stays bounded.
            timeout_s: How long to wait.

        Raises:
            NotReady: The broker refuses, or stamps records with another time than its own.
        """
        topics = _topics(endpoints)
        settings = {**_TOPIC_SETTINGS, **(_FORGETFUL if forgets else {})}
        created = self._admin.create_topics(
            [NewTopic(topic, endpoints.partitions, config=settings) for topic in topics],
            operation_timeout=_REQUEST_S,
        )
        for topic, future in created.items():
            _result(future, f"cannot create topic {topic}", NotReady)
        for topic in topics:
            self._await_usable(topic, endpoints.partitions, timeout_s)
            self.verify(topic)

    def verify(self, topic: str) -> None:
        """Check that the broker stamps a topic's records with its own time.

        Raises:
            NotReady: It does not, or does not tell.
        """
        found = self._read_settings(topic)[TIMESTAMPS].value
        if found != _TOPIC_SETTINGS[TIMESTAMPS]:
            raise NotReady(
                f"topic {topic} has {TIMESTAMPS}={found}, although LogAppendTime was asked for:"
                " latencies need the broker's own time",
                "Use a broker that allows LogAppendTime for topics.",
            )

    def delete(self, endpoints: Endpoints) -> None:
        """Delete the trial's topics and consumer group; what is gone already is no error."""
        deleted = self._admin.delete_topics(_topics(endpoints), operation_timeout=_REQUEST_S)
        for topic, future in deleted.items():
            _gone(future, f"cannot delete topic {topic}", KafkaError.UNKNOWN_TOPIC_OR_PART)
        groups = self._admin.delete_consumer_groups([endpoints.group])
        for group, future in groups.items():
            _gone(future, f"cannot delete group {group}", *_NO_GROUP_YET)

    def delete_left(self, prefix: str) -> None:
        """Delete the topics that an earlier try of a run could not delete itself."""
        topics = self._admin.list_topics(timeout=_REQUEST_S).topics
        ours = [name for name in topics if name.startswith(f"{prefix}-")]
        if ours:
            deleted = self._admin.delete_topics(ours, operation_timeout=_REQUEST_S)
            for topic, future in deleted.items():
                _gone(future, f"cannot delete topic {topic}", KafkaError.UNKNOWN_TOPIC_OR_PART)

    def log_end(self, topic: str) -> list[int]:
        """Return the next offset to be written of every partition."""
        partitions = self._partitions(topic)
        latest = OffsetSpec.latest()
        asked = {TopicPartition(topic, p): latest for p in range(partitions)}
        ends = self._admin.list_offsets(asked, request_timeout=_REQUEST_S)
        found = {
            at.partition: _result(future, f"cannot ask for the end of {topic}").offset
            for at, future in ends.items()
        }
        return [found[p] for p in range(partitions)]

    def newest(self, topic: str, *, timeout_s: float = 1.0) -> tuple[int, bytes] | None:
        """Return append time and value of the newest record; None when there is none.

        A sample, for showing how far things are: it looks at the last record of each partition.
        """
        last = [
            TopicPartition(topic, p, end - 1) for p, end in enumerate(self.log_end(topic)) if end
        ]
        if not last:
            return None
        self._sampler.assign(last)
        records = _records(self._sampler.consume(len(last), timeout_s))
        self._sampler.unassign()
        newest = max(records, key=lambda record: record.timestamp_ms, default=None)
        return None if newest is None else (newest.timestamp_ms, newest.value)

    def tail(self, topic: str, start_offsets: Sequence[int]) -> Tail:
        """Follow a topic from the given offset of each partition."""
        return Tail(self._consumer(), topic, start_offsets)

    def committed(self, group: str, topics: Iterable[str]) -> Mapping[tuple[str, int], int]:
        """Return the offsets that a consumer group has committed, by topic and partition."""
        if group not in self._groups:
            self._groups[group] = Consumer({**self._settings, **_READ_ONLY, "group.id": group})
        asked = [TopicPartition(t, p) for t in topics for p in range(self._partitions(t))]
        # Not asked through the admin client: librdkafka (2.16) dereferences a null pointer there
        # when the broker has not yet made room for groups.
        try:
            found = self._groups[group].committed(asked, timeout=_REQUEST_S)
        except KafkaException as error:
            if error.args[0].code() in _NO_GROUP_YET:
                return {}
            raise TrialInvalid(f"cannot ask for the offsets of group {group}: {error}") from error
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def close(self) -> None:
        """Close what was opened to look at the topics."""
        if "_sampler" in self.__dict__:
            self._sampler.close()
            del self._sampler
        for group in list(self._groups):
            self._groups.pop(group).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient(self._settings, logger=_log)

    @cached_property
    def _sampler(self) -> Consumer:
        return self._consumer()

    def _consumer(self) -> Consumer:
        return Consumer({**self._settings, **_READ_ONLY}, logger=_log)

    def _read_settings(self, topic: str) -> Mapping[str, ConfigEntry]:
        """Ask for a topic's settings; the broker that is asked may hear of the topic late."""
        deadline = time.monotonic() + _REQUEST_S
        while True:
            resource = ConfigResource(ResourceType.TOPIC, topic)
            (future,) = self._admin.describe_configs([resource]).values()
            error = future.exception(_REQUEST_S)
            late = isinstance(error, KafkaException) and _unknown_topic(error)
            if not late or time.monotonic() > deadline:
                return _result(future, f"cannot read back the settings of topic {topic}", NotReady)
            time.sleep(0.02)

    def _await_usable(self, topic: str, partitions: int, timeout_s: float) -> None:
        """Wait until every partition answers.

        That a partition's leader is known is not enough: the leader itself hears of it later.
        """
        deadline = time.monotonic() + timeout_s
        while (problem := self._problem(topic, partitions)) is not None:
            if time.monotonic() > deadline:
                raise NotReady(f"topic {topic} is not usable after {timeout_s:g} s: {problem}")
            time.sleep(0.02)

    def _problem(self, topic: str, partitions: int) -> str | None:
        self._counts.pop(topic, None)
        try:
            found = len(self.log_end(topic))
        except TrialInvalid as error:
            return error.message
        return None if found == partitions else f"{found} of {partitions} partitions are there"

    def _partitions(self, topic: str) -> int:
        """Count a topic's partitions; asked once, since a trial's topics do not change."""
        if topic not in self._counts:
            try:
                metadata = self._admin.list_topics(topic, timeout=_REQUEST_S).topics[topic]
            except KafkaException as error:
                raise TrialInvalid(f"cannot ask for topic {topic}: {error}") from error
            if metadata.error is not None:
                raise TrialInvalid(f"cannot ask for topic {topic}: {metadata.error}")
            self._counts[topic] = len(metadata.partitions)
        return self._counts[topic]


class Tail:
    """Follows a topic; each `read` gives what came since the last."""

    def __init__(self, consumer: Consumer, topic: str, start_offsets: Sequence[int]) -> None:
        self._consumer = consumer
        consumer.assign(
            [TopicPartition(topic, p, offset) for p, offset in enumerate(start_offsets)]
        )

    def read(self, timeout_s: float = 0.1, *, most: int = 10_000) -> list[Record]:
        """Return the records that are there, after waiting no longer than that for any.

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


def _topics(endpoints: Endpoints) -> list[str]:
    return [*endpoints.inputs.values(), *([endpoints.output] if endpoints.output else [])]


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


def _result(future: Future[T], what: str, kind: type[StreamgaugeError] = TrialInvalid) -> T:
    """Wait for the broker's answer; what it refuses becomes an error of ours."""
    try:
        return future.result(_REQUEST_S)
    except KafkaException as error:
        raise kind(f"{what}: {error.args[0].str()}") from error
    except TimeoutError as error:
        raise kind(f"{what}: no answer within {_REQUEST_S:g} s") from error


def _unknown_topic(error: KafkaException) -> bool:
    return bool(error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART)


def _gone(future: Future[T], what: str, *absent: int) -> None:
    """Wait for a deletion; that there was nothing to delete is fine."""
    try:
        future.result(_REQUEST_S)
    except KafkaException as error:
        if error.args[0].code() not in absent:
            raise TrialInvalid(f"{what}: {error.args[0].str()}") from error
    except TimeoutError as error:
        raise TrialInvalid(f"{what}: no answer within {_REQUEST_S:g} s") from error
