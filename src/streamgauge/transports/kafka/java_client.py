"""Settings of a Kafka client in Java, from those of librdkafka that an endpoint has.

Most have the same name and meaning in both; those for logging in and for certificates differ.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.errors import UsageError
from streamgauge.services.kafka.endpoint import KafkaEndpoint

_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_TRANSLATED = {
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.username",
    "sasl.password",
    "security.protocol",
    "ssl.ca.location",
}


def java_settings(kafka: KafkaEndpoint) -> dict[str, str]:
    """Return the settings with which a Java client reaches the endpoint.

    Raises:
        UsageError: It asks for a way to log in that is not known here.
    """
    given = kafka.settings
    same = {key: value for key, value in given.items() if key not in _TRANSLATED}
    settings = {**same, "bootstrap.servers": kafka.bootstrap}
    if "security.protocol" in given:
        settings["security.protocol"] = given["security.protocol"].upper()
    if "ssl.ca.location" in given:
        settings |= {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": given["ssl.ca.location"],
        }
    if "sasl.username" in given:
        settings |= _login(given)
    return settings


def _login(given: Mapping[str, str]) -> dict[str, str]:
    mechanism = given.get("sasl.mechanisms") or given.get("sasl.mechanism", "")
    if mechanism not in _LOGIN_MODULES:
        raise UsageError(
            f"Spark cannot log in to Kafka with mechanism {mechanism!r}",
            f"Set sasl.mechanisms to one of: {', '.join(_LOGIN_MODULES)}.",
        )
    user, password = (_quoted(given.get(f"sasl.{part}", "")) for part in ("username", "password"))
    login = f"{_LOGIN_MODULES[mechanism]} required username={user} password={password};"
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": login}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
