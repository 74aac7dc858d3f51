"""Where services are to be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict


@dataclass(frozen=True)
class JmxEndpoint:
    """Where a broker tells what it counts."""

    host: str
    port: int
    user: str = ""
    """Empty where anybody may ask."""
    password: str = field(default="", repr=False)


@dataclass(frozen=True)
class KafkaEndpoint:
    """A Kafka cluster, and the librdkafka settings (TLS, SASL) that a client of it needs."""

    bootstrap: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    jmx: JmxEndpoint | None = None
    """Of one broker; None where nobody asked for it, or nobody said where it is."""

    @property
    def address(self) -> str:
        """Return the address as it may be shown."""
        return self.bootstrap

    def client_settings(
        self, **more: str | int | float | bool
    ) -> dict[str, str | int | float | bool]:
        """Return a client's configuration; `more` names settings with _ for each dot."""
        extra = {key.replace("_", "."): value for key, value in more.items()}
        return {**self.settings, "bootstrap.servers": self.bootstrap, **extra}


@dataclass(frozen=True)
class FlightEndpoint:
    """The driver's own queues, and the token without which nobody is let in."""

    host: str
    port: int
    token: str = field(repr=False)

    @property
    def address(self) -> str:
        """Return the address as it may be shown."""
        return f"grpc://{self.host}:{self.port}"


class Connection(TypedDict):
    """Keyword arguments of `psycopg.connect`."""

    host: str
    port: int
    dbname: str
    user: str
    password: str


@dataclass(frozen=True)
class PostgresEndpoint:
    """A database, and the schema in it that is ours."""

    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    schema: str = "streamgauge"

    @property
    def address(self) -> str:
        """Return the address as it may be shown: without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://{host}:{self.port}/{self.database}"

    def connection(self) -> Connection:
        """Return the keyword arguments of `psycopg.connect`."""
        return {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user,
            "password": self.password,
        }
