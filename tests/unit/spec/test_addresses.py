from pathlib import Path

import pytest

from streamgauge.errors import NotReady, UsageError
from streamgauge.planning import Asked, plan_run
from streamgauge.services.kafka.endpoint import JmxEndpoint, KafkaEndpoint
from streamgauge.services.kafka.given import GivenKafka
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.postgres.given import GivenPostgres
from streamgauge.spec.addresses import (
    parse_jmx,
    parse_kafka,
    parse_postgres,
    read_properties,
    without_user_info,
)


def test_kafka_address_with_several_brokers() -> None:
    assert parse_kafka("a:9092, b:9093", {}) == KafkaEndpoint("a:9092,b:9093")


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":9092", "host:port", "host:70000", "kafka://h:1", "a:1,,b:2"]
)
def test_a_kafka_address_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        parse_kafka(text, {})


def test_a_secret_in_a_kafka_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        parse_kafka("user:s3cret@host:9092", {})
    assert "s3cret" not in raised.value.message
    assert "STREAMGAUGE_KAFKA_CONFIG" in str(raised.value.remedy)


def test_kafka_client_settings_come_from_a_file_and_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# account\nsecurity.protocol = SASL_SSL\nsasl.password=a=b\n\n")
    endpoint = parse_kafka("h:1", {"STREAMGAUGE_KAFKA_CONFIG": str(file)})
    assert endpoint.client_settings(linger_ms=1) == {
        "security.protocol": "SASL_SSL",
        "sasl.password": "a=b",
        "bootstrap.servers": "h:1",
        "linger.ms": 1,
    }
    assert "a=b" not in repr(endpoint)


def test_where_a_broker_counts_comes_from_the_environment_and_its_password_is_not_shown() -> None:
    assert parse_jmx({}) is None
    assert parse_jmx({"STREAMGAUGE_KAFKA_JMX": "h:9999"}) == JmxEndpoint("h", 9999)
    given = {
        "STREAMGAUGE_KAFKA_JMX": "[::1]:9999",
        "STREAMGAUGE_KAFKA_JMX_USER": "reader",
        "STREAMGAUGE_KAFKA_JMX_PASSWORD": "s3cret",
    }
    endpoint = parse_jmx(given)
    assert endpoint == JmxEndpoint("[::1]", 9999, "reader", "s3cret")
    assert "s3cret" not in repr(endpoint)


@pytest.mark.parametrize("text", ["h", "h:x", "a:1,b:2", "reader:s3cret@h:9999"])
def test_a_place_of_counters_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT") as raised:
        parse_jmx({"STREAMGAUGE_KAFKA_JMX": text})
    assert "s3cret" not in raised.value.message


def test_only_trials_of_the_broker_alone_ask_for_its_counters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STREAMGAUGE_KAFKA_JMX", "h:9999")
    asked = {"kafka": Asked("h:9092"), "experiment": Asked("broker")}
    (kafka,) = choose(plan_run("espbench/q3", asked))
    assert isinstance(kafka, GivenKafka)
    assert kafka.endpoint.jmx == JmxEndpoint("h", 9999)
    (kafka,) = choose(plan_run("espbench/q3", {**asked, "experiment": Asked("fixed-rate")}))
    assert isinstance(kafka, GivenKafka)
    assert kafka.endpoint.jmx is None


def test_a_broken_line_of_a_settings_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("a=1\nnonsense\n")
    with pytest.raises(UsageError, match="line 2"):
        read_properties(file)


def test_a_missing_settings_file_is_named() -> None:
    with pytest.raises(NotReady, match="/no/such/file"):
        parse_kafka("h:1", {"STREAMGAUGE_KAFKA_CONFIG": "/no/such/file"})


def test_postgres_address_with_defaults() -> None:
    found = parse_postgres("postgresql://me@db/bench", from_env=False, environ={})
    assert found == PostgresEndpoint("db", 5432, "bench", "me", "")
    assert found.address == "postgresql://db:5432/bench"


def test_a_password_on_the_command_line_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        parse_postgres("postgresql://me:s3cret@db/bench", from_env=False, environ={})
    assert "s3cret" not in f"{raised.value.message} {raised.value.remedy}"
    assert "STREAMGAUGE_POSTGRES_PASSWORD" in str(raised.value.remedy)


def test_a_password_within_the_environments_address_is_taken() -> None:
    found = parse_postgres("postgresql://me:p%40ss@db/bench", from_env=True, environ={})
    assert found.password == "p@ss"
    assert "p@ss" not in repr(found)
    assert "me" not in found.address


def test_an_address_without_user_info_gets_it_from_its_twin_in_the_environment() -> None:
    environ = {"STREAMGAUGE_POSTGRES": "postgresql://me:s3cret@db:5433/bench"}
    found = parse_postgres("postgresql://db:5433/bench", from_env=False, environ=environ)
    assert (found.user, found.password) == ("me", "s3cret")
    other = parse_postgres("postgresql://x@other:5433/bench", from_env=False, environ=environ)
    assert (other.user, other.password) == ("x", "")


def test_the_twin_may_leave_out_the_port() -> None:
    environ = {"STREAMGAUGE_POSTGRES": "postgresql://me:s3cret@db/bench"}
    found = parse_postgres("postgresql://db:5432/bench", from_env=False, environ=environ)
    assert (found.user, found.password) == ("me", "s3cret")


def test_the_password_comes_from_the_environment_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from file\n")
    by_file = {"STREAMGAUGE_POSTGRES_PASSWORD_FILE": str(file)}
    address = "postgresql://me@db/bench"
    assert parse_postgres(address, from_env=False, environ=by_file).password == "from file"
    both = {**by_file, "STREAMGAUGE_POSTGRES_PASSWORD": "100% direct"}
    assert parse_postgres(address, from_env=False, environ=both).password == "100% direct"


def test_a_missing_password_file_is_named() -> None:
    environ = {"STREAMGAUGE_POSTGRES_PASSWORD_FILE": "/no/such/file"}
    with pytest.raises(NotReady, match="/no/such/file"):
        parse_postgres("postgresql://me@db/bench", from_env=False, environ=environ)


@pytest.mark.parametrize(
    "text", ["", "db", "mysql://db/x", "postgresql://db", "postgresql:///x", "postgresql://d:x/y"]
)
def test_a_postgres_address_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="postgresql://"):
        parse_postgres(text, from_env=True, environ={})


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("postgresql://me@db:5433/bench", "postgresql://db:5433/bench"),
        ("--postgres=postgresql://me:s3cret@db/b", "--postgres=postgresql://db/b"),
        ("postgresql://me:p@ss@db/b", "postgresql://db/b"),
        ("mail=me@db", "mail=me@db"),
    ],
)
def test_what_is_written_down_of_a_command_holds_no_user_info(word: str, written: str) -> None:
    assert without_user_info(word) == written


def test_a_run_knows_its_user_but_does_not_write_it_down() -> None:
    given = "postgresql://somebody@db:5433/bench"
    spec = plan_run("espbench", {"postgres": Asked(given, "option")})
    assert "somebody" not in spec.model_dump_json()
    postgres = next(service for service in choose(spec) if service.name == "postgres")
    assert isinstance(postgres, GivenPostgres)
    assert postgres.endpoint.user == "somebody"


def test_a_run_planned_from_the_environment_keeps_no_secret_and_still_connects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = "postgresql://me:s3cret@db:5433/bench"
    monkeypatch.setenv("STREAMGAUGE_POSTGRES", given)
    spec = plan_run("espbench", {"postgres": Asked(given, "environment")})
    assert "s3cret" not in spec.model_dump_json()
    assert spec.postgres is not None
    endpoint = parse_postgres(spec.postgres, from_env=False)
    assert (endpoint.user, endpoint.password) == ("me", "s3cret")


def test_a_run_is_not_planned_with_a_password_on_the_command_line() -> None:
    with pytest.raises(UsageError, match="password on the command line"):
        plan_run("espbench", {"postgres": Asked("postgresql://me:s3cret@db/bench", "option")})
