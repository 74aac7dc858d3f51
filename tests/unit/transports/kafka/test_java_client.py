import pytest

from streamgauge.errors import UsageError
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.transports.kafka.java_client import java_settings


def settings_of(**settings: str) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return java_settings(KafkaEndpoint("broker:9092", named))


def test_a_plain_broker_needs_its_address_alone() -> None:
    assert settings_of() == {"bootstrap.servers": "broker:9092"}


def test_logging_in_is_told_in_javas_way() -> None:
    settings = settings_of(
        security_protocol="sasl_ssl",
        sasl_mechanisms="SCRAM-SHA-512",
        sasl_username="me",
        sasl_password='a"b\\c',
        ssl_ca_location="/ca.pem",
    )
    assert settings == {
        "bootstrap.servers": "broker:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="me" password="a\\"b\\\\c";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
    }


def test_an_unknown_way_to_log_in_is_refused_without_the_password() -> None:
    with pytest.raises(UsageError, match="GSSAPI") as caught:
        settings_of(sasl_mechanisms="GSSAPI", sasl_username="me", sasl_password="hidden")
    assert "hidden" not in f"{caught.value} {caught.value.remedy}"


def test_what_means_the_same_is_passed_on() -> None:
    assert settings_of(ssl_keystore_location="/k.p12")["ssl.keystore.location"] == "/k.p12"
