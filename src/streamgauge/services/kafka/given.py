"""A Kafka cluster that somebody else runs: checked before use, never started or stopped."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)

from streamgauge.errors import NotReady, TrialInvalid
from streamgauge.services.given import GivenService, measure_offset
from streamgauge.services.kafka.admin import APPEND_TIME, CONNECT_S, LOG, TIMESTAMPS, KafkaAdmin
from streamgauge.services.kafka.endpoint import KafkaEndpoint

_REMEDY = (
    f"use brokers that let topics have {TIMESTAMPS}={APPEND_TIME}: latency is measured between the"
    " broker's own time stamps"
)


class GivenKafka(GivenService[KafkaEndpoint]):
    """A Kafka cluster given by address; only topics that we create are ours."""

    name = "kafka"
    role = "broker"

    def __init__(self, endpoint: KafkaEndpoint, answer_within_s: float = CONNECT_S) -> None:
        self.endpoint = endpoint
        self._limit_s = answer_within_s
        self._admin = KafkaAdmin(endpoint, answer_within_s)

    def place(self) -> tuple[str, int]:
        """Return host and port of the first server that was named."""
        host, _, port = self.endpoint.bootstrap.partition(",")[0].rpartition(":")
        return host.strip("[]"), int(port)

    def check(self) -> None:
        """Check that it answers, lets us create topics, and stamps records with its own time."""
        self._admin.connect(self._limit_s)
        topic = f"streamgauge-check-{secrets.token_hex(4)}"
        self._create(topic)
        try:
            problem = timestamp_problem(self._admin.setting(topic, TIMESTAMPS), self._stamp(topic))
        finally:
            self._admin.delete([topic])
        if problem:
            raise NotReady(f"Kafka at {self.endpoint.bootstrap} {problem}", _REMEDY)

    def clock_offset(self) -> float:
        """Return the broker's clock − ours, in seconds: from append times, so to a millisecond."""
        topic = f"streamgauge-clock-{secrets.token_hex(4)}"
        self._create(topic)
        producer = Producer({**self.endpoint.client_settings(), "linger.ms": 0}, logger=LOG)
        stamps: list[float] = []

        def keep(error: KafkaError | None, message: Message) -> None:
            if error is None:
                stamps.append(message.timestamp()[1])

        def ask() -> float:
            stamps.clear()
            producer.produce(topic, b"", on_delivery=keep)
            producer.flush(self._limit_s)
            if not stamps:
                raise TrialInvalid("Kafka's clock cannot be read: it no longer takes records")
            return (stamps[-1] + 0.5) / 1000  # a millisecond counts from its beginning

        try:
            return measure_offset(ask)
        finally:
            self._admin.delete([topic])

    def _create(self, topic: str) -> None:
        try:
            self._admin.create([topic], 1, {}, verify=False)
        except NotReady as error:
            raise NotReady(
                f"Kafka at {self.endpoint.bootstrap} refuses to create a topic with"
                f" {APPEND_TIME}: {error.message}",
                "use an account that may create topics named streamgauge-*, and brokers that"
                f" allow {TIMESTAMPS}={APPEND_TIME}",
            ) from error

    def _stamp(self, topic: str) -> int | None:
        """Send one record and return the kind of time stamp with which it comes back."""
        producer = Producer(self.endpoint.client_settings(), logger=LOG)
        producer.produce(topic, b"check", timestamp=1)
        producer.flush(self._limit_s)
        settings = {"group.id": topic, "enable.auto.commit": False}
        consumer = Consumer({**self.endpoint.client_settings(), **settings}, logger=LOG)
        try:
            consumer.assign([TopicPartition(topic, 0, 0)])
            message = _first(consumer.poll, self._limit_s)
        finally:
            consumer.close()
        return None if message is None else int(message.timestamp()[0])


def timestamp_problem(setting: str, kind: int | None) -> str | None:
    """Return what is wrong with a topic's time stamps, given its setting and a record's kind."""
    if setting != APPEND_TIME:
        return f"does not take {APPEND_TIME}: the topic has {TIMESTAMPS}={setting}"
    if kind is None:
        return "does not return a record that was sent to it"
    if kind != TIMESTAMP_LOG_APPEND_TIME:
        return "does not stamp records with its own time, although the topic's setting says so"
    return None


def _first(
    poll: Callable[[float], Message | None],
    limit_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> Message | None:
    """Poll for a record; errors on the way (a leader not known yet) go away by themselves."""
    deadline = clock() + limit_s
    while clock() < deadline:
        message = poll(0.2)
        if message is not None and message.error() is None:
            return message
    return None
