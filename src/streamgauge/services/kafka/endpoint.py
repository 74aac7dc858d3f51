"""Where a Kafka cluster can be reached, and how users write that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from streamgauge.errors import UsageError
from streamgauge.jobfile import variable
from streamgauge.services.addresses import Given, is_place, read_properties, without_secret
from streamgauge.spec.endpoints import Endpoint, unwritten

CONFIG = variable("kafka", "config")
JMX = variable("kafka", "jmx")
_JMX_USER, _JMX_PASSWORD = variable("kafka", "jmx_user"), variable("kafka", "jmx_password")
FORM = "HOST:PORT[,HOST:PORT…]"


@dataclass(frozen=True)
class JmxEndpoint:
    """Where a broker exposes its counters."""

    host: str
    port: int
    user: str = ""
    """Empty if anybody may read them."""
    password: str = field(default="", repr=False)


@dataclass(frozen=True)
class KafkaEndpoint(Endpoint):
    """A Kafka cluster, and the librdkafka settings (TLS, SASL) that a client of it needs."""

    service: ClassVar[str] = "kafka"

    bootstrap: str
    settings: Mapping[str, str] = unwritten(default_factory=dict)
    jmx: JmxEndpoint | None = unwritten(default=None)  # noqa: RUF009 - it makes a field
    """Of one broker; None where it was not asked for, or its place is unknown."""
    replication: int = unwritten(default=1)
    """Of the topics that are created."""
    topic_settings: Mapping[str, str] = unwritten(default_factory=dict)
    """On top of ours."""

    @property
    def address(self) -> str:
        """Return the address as it may be shown."""
        return self.bootstrap

    def places(self) -> list[tuple[str, int]]:
        """Return where the brokers say they are: clients connect to these, whatever we named."""
        from streamgauge.services.kafka.admin import KafkaAdmin

        return KafkaAdmin(self).brokers()

    @classmethod
    def restored(cls, written: Mapping[str, Any], environ: Mapping[str, str]) -> Self:
        """Combine the address and the client settings of the file that is named."""
        return cls(**written, settings=client_properties(environ))

    def client_settings(
        self, **more: str | int | float | bool
    ) -> dict[str, str | int | float | bool]:
        """Return a client's configuration; `more` names settings with _ for each dot."""
        extra = {key.replace("_", "."): value for key, value in more.items()}
        return {**self.settings, "bootstrap.servers": self.bootstrap, **extra}


def parse_kafka(given: Given, environ: Mapping[str, str] = os.environ) -> KafkaEndpoint:
    """Read HOST:PORT[,HOST:PORT…], with client settings from the file the environment names."""
    for address in given.text.split(","):
        if not is_place(address):
            raise UsageError(
                f"Kafka address {without_secret(address)!r}: expected {FORM}",
                f"client settings such as passwords belong in a file named by {CONFIG}",
            )
    return KafkaEndpoint(given.text.replace(" ", ""), client_properties(environ))


def client_properties(environ: Mapping[str, str]) -> dict[str, str]:
    """Read the client settings that the environment names."""
    name = environ.get(CONFIG)
    return read_properties(Path(name), CONFIG) if name else {}


def parse_jmx(environ: Mapping[str, str] = os.environ) -> JmxEndpoint | None:
    """Return where a given broker exposes its counters; None where the environment does not say.

    Raises:
        UsageError: It is not HOST:PORT.
    """
    if not (text := environ.get(JMX, "").strip()):
        return None
    if not is_place(text):
        raise UsageError(
            f"{JMX} {without_secret(text)!r}: expected HOST:PORT",
            f"user and password belong in {_JMX_USER} and {_JMX_PASSWORD}",
        )
    host, _, port = text.rpartition(":")
    user, password = environ.get(_JMX_USER, ""), environ.get(_JMX_PASSWORD, "")
    return JmxEndpoint(host, int(port), user, password)
