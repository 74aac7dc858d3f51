"""Given services: used as they are when fit for measuring, refused with the reason when not."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME
from confluent_kafka.admin import AdminClient

from streamgauge.errors import NotReady
from streamgauge.services import jars, runtime
from streamgauge.services.addresses import Given
from streamgauge.services.java import ENVIRONMENT, find_java
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.kafka.endpoint import KafkaEndpoint, parse_kafka
from streamgauge.services.kafka.given import GivenKafka, timestamp_problem
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.postgres.given import GivenPostgres
from streamgauge.services.running import RunningService

pytestmark = pytest.mark.integration

POLICY = """
import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

public class NoAppendTime implements CreateTopicPolicy {
    public void configure(Map configs) {}
    public void close() {}
    public void validate(CreateTopicPolicy.RequestMetadata request) {
        if ("LogAppendTime".equals(request.configs().get("message.timestamp.type"))) {
            throw new PolicyViolationException("we keep the producers' time");
        }
    }
}
"""
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
WITH_PASSWORD = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": (
        f'{LOGIN} username="us" password="s3cret" user_us="s3cret";'
    ),
}
CLIENT = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "us",
    "sasl.password": "s3cret",
}


def refusal(service: GivenKafka | GivenPostgres) -> NotReady:
    with pytest.raises(NotReady) as raised, service.up():
        pytest.fail("it was accepted")
    return raised.value


def test_a_fit_broker_is_used_and_nothing_is_left_in_it(
    kafka: RunningService[KafkaEndpoint],
) -> None:
    with GivenKafka(kafka.endpoint).up() as running:
        assert running.endpoint == kafka.endpoint
        assert running.processes() == []
        assert running.failure() is None
    topics = AdminClient(kafka.endpoint.client_settings()).list_topics(timeout=10).topics
    assert not [name for name in topics if name.startswith("streamgauge-check")]
    assert kafka.failure() is None


def test_the_clock_of_a_given_service_is_compared_with_ours(
    kafka: RunningService[KafkaEndpoint], postgres: RunningService[PostgresEndpoint]
) -> None:
    """They share our clock: what is found is the error of asking, small against a second."""
    with GivenKafka(kafka.endpoint).up() as broker, GivenPostgres(postgres.endpoint).up() as base:
        for service in (broker, base):
            assert service.clock_offset is not None
            assert abs(service.clock_offset()) < 0.1
    topics = AdminClient(kafka.endpoint.client_settings()).list_topics(timeout=10).topics
    assert not [name for name in topics if name.startswith("streamgauge-clock")]


def test_a_broker_that_cannot_be_reached_is_named() -> None:
    port = runtime.free_port()
    error = refusal(GivenKafka(KafkaEndpoint(f"127.0.0.1:{port}")))
    assert f"127.0.0.1:{port}" in error.message
    assert "Connection refused" in error.message


def test_client_settings_that_make_no_sense_are_named() -> None:
    error = refusal(GivenKafka(KafkaEndpoint("127.0.0.1:9", {"no.such.setting": "1"})))
    assert "no.such.setting" in error.message


def test_a_broker_that_wants_a_password_is_used_with_the_settings_file(
    tmp_path: Path,
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in CLIENT.items()))
    with EmbeddedKafka(settings=WITH_PASSWORD, client=CLIENT).up() as running:
        address = running.endpoint.bootstrap
        error = refusal(GivenKafka(parse_kafka(Given(address), {})))
        assert address in error.message
        assert "STREAMGAUGE_KAFKA_CONFIG" in str(error.remedy)

        wrong = replace(running.endpoint, settings={**CLIENT, "sasl.password": "guess"})
        error = refusal(GivenKafka(wrong))
        assert "uthentication failed" in error.message
        assert "guess" not in error.message

        GivenKafka(parse_kafka(Given(address), {"STREAMGAUGE_KAFKA_CONFIG": str(file)})).check()


def test_a_broker_that_refuses_its_own_time_is_refused(tmp_path: Path) -> None:
    (tmp_path / "NoAppendTime.java").write_text(POLICY)
    files = jars.ensure("kafka")
    compile_java(tmp_path / "NoAppendTime.java", files)
    policy = {"create.topic.policy.class.name": "NoAppendTime"}
    with EmbeddedKafka(settings=policy, class_path=[tmp_path]).up() as running:
        error = refusal(GivenKafka(running.endpoint))
    assert "LogAppendTime" in error.message
    assert "we keep the producers' time" in error.message


def compile_java(source: Path, class_path: list[Path]) -> None:
    """Compile with the compiler inside PySpark, since a plain Java has none."""
    import pyspark

    spark = Path(pyspark.__file__).parent / "jars"
    program = [*spark.glob("janino-*.jar"), *spark.glob("commons-compiler-*.jar")]
    subprocess.run(
        [
            find_java().executable,
            "-cp",
            ":".join(map(str, program)),
            "org.codehaus.commons.compiler.samples.CompilerDemo",
            "-d",
            source.parent,
            "-classpath",
            ":".join(map(str, class_path)),
            source,
        ],
        check=True,
        env={**os.environ, **ENVIRONMENT},
    )


@pytest.mark.parametrize(
    ("setting", "kind", "problem"),
    [
        ("LogAppendTime", TIMESTAMP_LOG_APPEND_TIME, None),
        ("CreateTime", TIMESTAMP_LOG_APPEND_TIME, "message.timestamp.type=CreateTime"),
        ("LogAppendTime", TIMESTAMP_CREATE_TIME, "does not stamp records with its own time"),
        ("LogAppendTime", None, "does not return a record"),
    ],
)
def test_time_stamps_are_believed_only_when_seen(
    setting: str, kind: int | None, problem: str | None
) -> None:
    found = timestamp_problem(setting, kind)
    assert found is None if problem is None else problem in str(found)


def test_a_fit_database_is_used_and_nothing_is_created(
    postgres: RunningService[PostgresEndpoint],
) -> None:
    endpoint = replace(postgres.endpoint, schema="not_there_yet")
    with GivenPostgres(endpoint).up() as running:
        assert running.endpoint == endpoint
    with psycopg.connect(**endpoint.connection()) as connection:
        query = "SELECT count(*) FROM pg_namespace WHERE nspname = 'not_there_yet'"
        assert connection.execute(query).fetchone() == (0,)


def test_a_database_that_cannot_be_reached_is_named() -> None:
    port = runtime.free_port()
    error = refusal(GivenPostgres(PostgresEndpoint("127.0.0.1", port, "x", "u", "")))
    assert f"postgresql://127.0.0.1:{port}/x" in error.message
    assert "refused" in error.message


@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_database_that_wants_another_password_says_how_to_give_it(
    postgres: RunningService[PostgresEndpoint], password: str
) -> None:
    error = refusal(GivenPostgres(replace(postgres.endpoint, password=password)))
    assert "STREAMGAUGE_POSTGRES_PASSWORD" in str(error.remedy)
    assert postgres.endpoint.password not in error.message


def test_a_database_where_we_may_not_create_our_schema_is_refused(
    postgres: RunningService[PostgresEndpoint],
) -> None:
    with psycopg.connect(**postgres.endpoint.connection(), autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        guest = replace(postgres.endpoint, user="guest", password="guest", schema="guests")
        try:
            error = refusal(GivenPostgres(guest))
            connection.execute("CREATE SCHEMA guests AUTHORIZATION guest")
            GivenPostgres(guest).check()
        finally:
            connection.execute("DROP SCHEMA IF EXISTS guests")
            connection.execute("DROP ROLE guest")
    assert "guest may not use a schema guests" in error.message
    assert "CREATE SCHEMA guests AUTHORIZATION guest" in str(error.remedy)
