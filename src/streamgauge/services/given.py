"""Services that somebody else runs: checked before use, never started or stopped."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Generic

from streamgauge.errors import NotReady, TrialInvalid
from streamgauge.services.service import E, RunningService
from streamgauge.spec.endpoints import KafkaEndpoint, PostgresEndpoint

if TYPE_CHECKING:
    import psycopg
    from confluent_kafka import KafkaError, Message
    from confluent_kafka.admin import AdminClient

ANSWER_WITHIN_S = 15.0
_TIMESTAMPS = "message.timestamp.type"
_LOG_APPEND_TIME = "LogAppendTime"
_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # else Python prints what librdkafka says of each attempt


class _Given(ABC, Generic[E]):
    """What given services share: being up means having been checked."""

    name: str
    endpoint: E

    @abstractmethod
    def check(self) -> None:
        """Refuse a service that cannot be used for measuring."""

    @abstractmethod
    def place(self) -> tuple[str, int]:
        """Return host and port by which it can be asked whether it is still there."""

    def begin(self, stack: ExitStack) -> Callable[[], RunningService[E]]:  # noqa: ARG002
        """Check it; there is nothing to wait for or to stop."""
        self.check()
        return lambda: RunningService(
            self.name, self.endpoint, place=self.place(), clock_offset=self.clock_offset
        )

    @abstractmethod
    def clock_offset(self) -> float:
        """Return the service's clock − ours, in seconds."""

    @contextlib.contextmanager
    def up(self) -> Iterator[RunningService[E]]:
        """Check it, and use it as it is."""
        with ExitStack() as stack:
            yield self.begin(stack)()


class GivenPostgres(_Given[PostgresEndpoint]):
    """A database server given by address; only our schema in it is ours."""

    name = "postgres"

    def __init__(self, endpoint: PostgresEndpoint) -> None:
        self.endpoint = endpoint

    def place(self) -> tuple[str, int]:
        """Return host and port of the server."""
        return self.endpoint.host, self.endpoint.port

    def check(self) -> None:
        """Connect, and see that our schema is there or may be created."""
        import psycopg

        given, ours = self.endpoint.connection(), self.endpoint.schema
        try:
            with psycopg.connect(**given, connect_timeout=int(ANSWER_WITHIN_S)) as connection:
                row = connection.execute(_MAY_USE_SCHEMA, {"schema": ours}).fetchone()
        except psycopg.OperationalError as error:
            raise self._refused(str(error).strip()) from error
        if row is None or not row[0]:
            raise NotReady(
                f"user {self.endpoint.user} may not use a schema {ours} in {self.endpoint.address}",
                f"let its owner run: CREATE SCHEMA {ours} AUTHORIZATION {self.endpoint.user}",
            )

    def clock_offset(self) -> float:
        """Return the server's clock − ours, in seconds."""
        import psycopg

        try:
            with psycopg.connect(**self.endpoint.connection()) as connection:
                return measure_offset(lambda: _clock(connection))
        except psycopg.Error as error:
            reason = str(error).strip().partition("\n")[0]
            raise TrialInvalid(f"PostgreSQL does not tell its time: {reason}") from error

    def _refused(self, reason: str) -> NotReady:
        remedy = "check the address, and that the server accepts connections from here"
        if "password" in reason or "authentication" in reason:
            remedy = (
                "give the password by STREAMGAUGE_POSTGRES_PASSWORD, by a file named by"
                " STREAMGAUGE_POSTGRES_PASSWORD_FILE, or within STREAMGAUGE_POSTGRES"
            )
        return NotReady(f"cannot use PostgreSQL at {self.endpoint.address}: {reason}", remedy)


def _clock(connection: psycopg.Connection[tuple[Any, ...]]) -> float:
    row = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert row is not None
    return float(row[0])


_MAY_USE_SCHEMA = """
SELECT coalesce(
    (SELECT has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE')
     FROM pg_namespace WHERE nspname = %(schema)s),
    has_database_privilege(current_database(), 'CREATE'))
"""


class GivenKafka(_Given[KafkaEndpoint]):
    """A Kafka cluster given by address; only topics that we create are ours."""

    name = "kafka"

    def __init__(self, endpoint: KafkaEndpoint, answer_within_s: float = ANSWER_WITHIN_S) -> None:
        self.endpoint = endpoint
        self._limit_s = answer_within_s

    def place(self) -> tuple[str, int]:
        """Return host and port of the first server that was named."""
        host, _, port = self.endpoint.bootstrap.partition(",")[0].rpartition(":")
        return host.strip("[]"), int(port)

    def check(self) -> None:
        """See that it answers, lets us create topics, and stamps records with its own time."""
        self._check_topic(self._connect(), f"streamgauge-check-{secrets.token_hex(4)}")

    def clock_offset(self) -> float:
        """Return the broker's clock − ours, in seconds: from append times, so to a millisecond."""
        from confluent_kafka import Producer

        admin, topic = self._connect(), f"streamgauge-clock-{secrets.token_hex(4)}"
        self._create(admin, topic)
        settings = {**self.endpoint.client_settings(), "linger.ms": 0}
        producer = Producer(settings, logger=_log)
        stamps: list[float] = []

        def keep(error: KafkaError | None, message: Message) -> None:
            if error is None:
                stamps.append(message.timestamp()[1])

        def ask() -> float:
            stamps.clear()
            producer.produce(topic, b"", on_delivery=keep)
            producer.flush(self._limit_s)
            if not stamps:
                raise TrialInvalid("Kafka does not tell its time: it takes no records any more")
            return (stamps[-1] + 0.5) / 1000  # a millisecond counts from its beginning

        try:
            return measure_offset(ask)
        finally:
            admin.delete_topics([topic])[topic].result(self._limit_s)

    def _connect(self, clock: Callable[[], float] = time.monotonic) -> AdminClient:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient

        errors: list[KafkaError] = []  # what librdkafka says in the background
        settings: dict[str, Any] = {**self.endpoint.client_settings(), "error_cb": errors.append}
        hopeless = {KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION}
        deadline = clock() + self._limit_s
        try:
            admin = AdminClient(settings, logger=_log)
        except KafkaException as error:
            raise self._refused(error.args[0].str()) from error
        while True:
            try:
                admin.list_topics(timeout=1)
            except KafkaException as error:
                admin.poll(0)
                if clock() > deadline or any(seen.code() in hopeless for seen in errors):
                    reason = errors[0] if errors else error.args[0]
                    raise self._refused(reason.str()) from error
            else:
                return admin

    def _refused(self, reason: str) -> NotReady:
        return NotReady(
            f"cannot use Kafka at {self.endpoint.bootstrap}: {reason}",
            "check the address; for TLS or a password name a file with client settings by"
            " STREAMGAUGE_KAFKA_CONFIG",
        )

    def _check_topic(self, admin: AdminClient, topic: str) -> None:
        self._create(admin, topic)
        try:
            problem = timestamp_problem(self._setting(admin, topic), self._stamp(topic))
        finally:
            for future in admin.delete_topics([topic]).values():
                future.result(self._limit_s)
        if problem:
            raise NotReady(
                f"Kafka at {self.endpoint.bootstrap} {problem}",
                "use brokers that let topics have message.timestamp.type=LogAppendTime:"
                " latency is measured between the broker's own time stamps",
            )

    def _create(self, admin: AdminClient, topic: str) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import NewTopic

        wanted = NewTopic(topic, 1, config={_TIMESTAMPS: _LOG_APPEND_TIME})
        try:
            admin.create_topics([wanted])[topic].result(self._limit_s)
        except KafkaException as error:
            raise NotReady(
                f"Kafka at {self.endpoint.bootstrap} refuses to create a topic with"
                f" {_LOG_APPEND_TIME}: {error.args[0].str()}",
                "use an account that may create topics named streamgauge-*, and brokers that"
                f" allow {_TIMESTAMPS}={_LOG_APPEND_TIME}",
            ) from error

    def _setting(
        self, admin: AdminClient, topic: str, clock: Callable[[], float] = time.monotonic
    ) -> str:
        """Ask for the topic's kind of time stamps; a broker may hear of a new topic late."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import ConfigResource, ResourceType

        resource = ConfigResource(ResourceType.TOPIC, topic)
        deadline = clock() + self._limit_s
        while True:
            try:
                found = admin.describe_configs([resource])[resource].result(self._limit_s)
            except KafkaException as error:
                late = error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                if not late or clock() > deadline:
                    raise self._refused(error.args[0].str()) from error
                time.sleep(0.02)
            else:
                return str(found[_TIMESTAMPS].value)

    def _stamp(self, topic: str) -> int | None:
        """Send one record and return the kind of time stamp with which it comes back."""
        from confluent_kafka import Consumer, Producer, TopicPartition

        producer = Producer(self.endpoint.client_settings(), logger=_log)
        producer.produce(topic, b"check", timestamp=1)
        producer.flush(self._limit_s)
        settings = {"group.id": topic, "enable.auto.commit": False}
        consumer = Consumer({**self.endpoint.client_settings(), **settings}, logger=_log)
        try:
            consumer.assign([TopicPartition(topic, 0, 0)])
            message = _first(consumer.poll, self._limit_s)
        finally:
            consumer.close()
        return None if message is None else int(message.timestamp()[0])


def measure_offset(
    ask: Callable[[], float], clock: Callable[[], float] = time.time, tries: int = 30
) -> float:
    """Return another clock − ours; the quickest answer bounds the error by half its way.

    Args:
        ask: Asks the other clock, epoch seconds.
        clock: Ours.
        tries: How often it is asked.
    """
    quickest, offset_s = float("inf"), 0.0
    for _ in range(tries):
        before_s = clock()
        theirs_s = ask()
        after_s = clock()
        if after_s - before_s < quickest:
            quickest, offset_s = after_s - before_s, theirs_s - (before_s + after_s) / 2
    return offset_s


def timestamp_problem(setting: str, kind: int | None) -> str | None:
    """Tell what is wrong with a topic's time stamps, given its setting and a record's kind."""
    from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME

    if setting != _LOG_APPEND_TIME:
        return f"does not take {_LOG_APPEND_TIME}: the topic has {_TIMESTAMPS}={setting}"
    if kind is None:
        return "does not give back a record that was sent to it"
    if kind != TIMESTAMP_LOG_APPEND_TIME:
        return "does not stamp records with its own time, although the topic's setting says so"
    return None


def _first(
    poll: Callable[[float], Message | None],
    limit_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> Message | None:
    """Poll for a record; errors on the way (a leader not known yet) pass by themselves."""
    deadline = clock() + limit_s
    while clock() < deadline:
        message = poll(0.2)
        if message is not None and message.error() is None:
            return message
    return None
