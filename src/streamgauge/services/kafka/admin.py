"""Administration of a Kafka cluster: everything except records."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from streamgauge.errors import NotReady, StreamgaugeError, TrialInvalid
from streamgauge.services.kafka.endpoint import CONFIG, KafkaEndpoint

TIMESTAMPS = "message.timestamp.type"
APPEND_TIME = "LogAppendTime"
REQUEST_S = 10.0
CONNECT_S = 15.0
LOG = logging.getLogger(__name__)
LOG.addHandler(logging.NullHandler())  # otherwise Python prints librdkafka's message each time
NO_GROUP_YET = (
    KafkaError.GROUP_ID_NOT_FOUND,
    # The broker prepares for groups only when asked for the first one.
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)
EARLIEST, LATEST, NEWEST = OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.max_timestamp()
_IMPATIENT = {"reconnect_backoff_ms": 20, "reconnect_backoff_max_ms": 100}
_HOPELESS = {KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION}
T = TypeVar("T")


def is_up(endpoint: KafkaEndpoint, cluster_id: str, brokers: int = 1) -> bool:
    """Return whether this cluster answers, complete; another program may have taken the port."""
    try:
        admin = AdminClient(endpoint.client_settings(**_IMPATIENT), logger=LOG)
        found = admin.list_topics(timeout=1)
    except KafkaException:
        return False
    ours = found.cluster_id == cluster_id
    return ours and len(found.brokers) >= brokers and found.controller_id >= 0


class KafkaAdmin:
    """Creates, examines and deletes topics."""

    def __init__(self, endpoint: KafkaEndpoint, limit_s: float = REQUEST_S) -> None:
        self.endpoint = endpoint
        self._limit_s = limit_s
        self._counts: dict[str, int] = {}

    def connect(
        self, limit_s: float = CONNECT_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Check that the cluster answers.

        Raises:
            NotReady: It does not, or does not let us in.
        """
        errors: list[KafkaError] = []  # what librdkafka says in the background
        settings: dict[str, Any] = {**self.endpoint.client_settings(), "error_cb": errors.append}
        deadline = clock() + limit_s
        try:
            admin = AdminClient(settings, logger=LOG)
        except KafkaException as error:
            raise self.refused(error.args[0].str()) from error
        while True:
            try:
                admin.list_topics(timeout=1)
            except KafkaException as error:
                admin.poll(0)
                if clock() > deadline or any(seen.code() in _HOPELESS for seen in errors):
                    reason = errors[0] if errors else error.args[0]
                    raise self.refused(reason.str()) from error
            else:
                return

    def refused(self, reason: str) -> NotReady:
        """Make the error of a cluster that cannot be used."""
        return NotReady(
            f"cannot use Kafka at {self.endpoint.bootstrap}: {reason}",
            f"check the address; for TLS or a password set {CONFIG} to a file with client settings",
        )

    def create(
        self,
        topics: Sequence[str],
        partitions: int,
        settings: Mapping[str, str],
        *,
        timeout_s: float = 30.0,
        verify: bool = True,
    ) -> None:
        """Create topics that are stamped with the broker's time, and wait until they can be used.

        Args:
            topics: Their names.
            partitions: Of each.
            settings: Those that the user asked for come on top.
            timeout_s: How long to wait.
            verify: Whether to read back that the time is the broker's.

        Raises:
            NotReady: The broker refuses, or stamps records with another time than its own.
        """
        config = {**settings, **self.endpoint.topic_settings, TIMESTAMPS: APPEND_TIME}
        replication = self.endpoint.replication
        created = self._client.create_topics(
            [NewTopic(topic, partitions, replication, config=config) for topic in topics],
            operation_timeout=self._limit_s,
        )
        for topic, future in created.items():
            self._result(future, f"cannot create topic {topic}", NotReady)
        for topic in topics:
            self._await_usable(topic, partitions, timeout_s)
            if verify:
                self.verify(topic)

    def verify(self, topic: str) -> None:
        """Check that the broker stamps a topic's records with its own time.

        Raises:
            NotReady: It does not, or its setting cannot be read.
        """
        found = self.setting(topic, TIMESTAMPS)
        if found != APPEND_TIME:
            raise NotReady(
                f"topic {topic} has {TIMESTAMPS}={found}, although {APPEND_TIME} was asked for:"
                " latencies need the broker's own time",
                f"Use a broker that allows {APPEND_TIME} for topics.",
            )

    def setting(self, topic: str, name: str) -> str:
        """Ask for a topic's setting; the broker that is asked may not know the topic at first."""
        deadline = time.monotonic() + self._limit_s
        while True:
            resource = ConfigResource(ResourceType.TOPIC, topic)
            (future,) = self._client.describe_configs([resource]).values()
            error = future.exception(self._limit_s)
            late = isinstance(error, KafkaException) and _unknown_topic(error)
            if not late or time.monotonic() > deadline:
                what = f"cannot read back the settings of topic {topic}"
                found: Mapping[str, ConfigEntry] = self._result(future, what, NotReady)
                return str(found[name].value)
            time.sleep(0.02)

    def delete(self, topics: Sequence[str], groups: Sequence[str] = ()) -> None:
        """Delete topics and consumer groups; what is already gone is not an error."""
        if topics:
            deleted = self._client.delete_topics(list(topics), operation_timeout=self._limit_s)
            for topic, future in deleted.items():
                self._gone(future, f"cannot delete topic {topic}", KafkaError.UNKNOWN_TOPIC_OR_PART)
        if groups:
            for group, future in self._client.delete_consumer_groups(list(groups)).items():
                self._gone(future, f"cannot delete group {group}", *NO_GROUP_YET)

    def brokers(self) -> list[tuple[str, int]]:
        """Return host and port of each broker, as clients see them."""
        found = self._client.list_topics(timeout=self._limit_s).brokers.values()
        return [(str(each.host), int(each.port)) for each in found]

    def topics(self, prefix: str) -> list[str]:
        """Return the topics whose names begin like that."""
        found = self._client.list_topics(timeout=self._limit_s).topics
        return [name for name in found if name.startswith(prefix)]

    def log_end(self, topic: str) -> list[int]:
        """Return the next offset to be written of every partition."""
        return [offset for offset, _ in self.offsets(topic, LATEST)]

    def offsets(self, topic: str, what: OffsetSpec) -> list[tuple[int, int]]:
        """Ask for an offset of each partition, with its time where that is known."""
        partitions = range(self.partitions(topic))
        asked = {TopicPartition(topic, number): what for number in partitions}
        answers = self._client.list_offsets(asked, request_timeout=self._limit_s)
        found = {
            at.partition: self._result(future, f"cannot ask for the end of {topic}")
            for at, future in answers.items()
        }
        return [(found[number].offset, found[number].timestamp) for number in partitions]

    def partitions(self, topic: str) -> int:
        """Count a topic's partitions; asked once, since a trial's topics do not change."""
        if topic not in self._counts:
            try:
                metadata = self._client.list_topics(topic, timeout=self._limit_s).topics[topic]
            except KafkaException as error:
                raise TrialInvalid(f"cannot ask for topic {topic}: {error}") from error
            if metadata.error is not None:
                raise TrialInvalid(f"cannot ask for topic {topic}: {metadata.error}")
            self._counts[topic] = len(metadata.partitions)
        return self._counts[topic]

    @cached_property
    def _client(self) -> AdminClient:
        return AdminClient(self.endpoint.client_settings(), logger=LOG)

    def _await_usable(self, topic: str, partitions: int, timeout_s: float) -> None:
        """Wait until every partition answers.

        Knowing a partition's leader is not enough: the leader itself learns of it later.
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

    def _result(
        self, future: Future[T], what: str, kind: type[StreamgaugeError] = TrialInvalid
    ) -> T:
        """Wait for the broker's answer; what it refuses becomes an error of ours."""
        try:
            return future.result(self._limit_s)
        except KafkaException as error:
            raise kind(f"{what}: {error.args[0].str()}") from error
        except TimeoutError as error:
            raise kind(f"{what}: no answer within {self._limit_s:g} s") from error

    def _gone(self, future: Future[T], what: str, *absent: int) -> None:
        """Wait for a deletion; that there was nothing to delete is fine."""
        try:
            future.result(self._limit_s)
        except KafkaException as error:
            if error.args[0].code() not in absent:
                raise TrialInvalid(f"{what}: {error.args[0].str()}") from error
        except TimeoutError as error:
            raise TrialInvalid(f"{what}: no answer within {self._limit_s:g} s") from error


def _unknown_topic(error: KafkaException) -> bool:
    return bool(error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART)
