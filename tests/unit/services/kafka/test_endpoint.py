from pathlib import Path

import pytest

from streamgauge.errors import NotReady, UsageError
from streamgauge.services.addresses import Given
from streamgauge.services.kafka.endpoint import JmxEndpoint, KafkaEndpoint, parse_jmx, parse_kafka


def test_kafka_address_with_several_brokers() -> None:
    assert parse_kafka(Given("a:9092, b:9093"), {}) == KafkaEndpoint("a:9092,b:9093")


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":9092", "host:port", "host:70000", "kafka://h:1", "a:1,,b:2"]
)
def test_a_kafka_address_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        parse_kafka(Given(text), {})


def test_a_secret_in_a_kafka_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        parse_kafka(Given("user:s3cret@host:9092"), {})
    assert "s3cret" not in raised.value.message
    assert "STREAMGAUGE_KAFKA_CONFIG" in str(raised.value.remedy)


def test_kafka_client_settings_come_from_a_file_and_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# account\nsecurity.protocol = SASL_SSL\nsasl.password=a=b\n\n")
    endpoint = parse_kafka(Given("h:1"), {"STREAMGAUGE_KAFKA_CONFIG": str(file)})
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


def test_a_missing_settings_file_is_named() -> None:
    with pytest.raises(NotReady, match="/no/such/file"):
        parse_kafka(Given("h:1"), {"STREAMGAUGE_KAFKA_CONFIG": "/no/such/file"})
