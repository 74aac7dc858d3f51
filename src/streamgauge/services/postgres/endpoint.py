"""Where a PostgreSQL database can be reached, and how users write that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypedDict

from streamgauge.services.addresses import Given, UrlForm, this_user, url_host
from streamgauge.spec.endpoints import Endpoint, secret

_FORM = UrlForm(
    "postgres",
    schemes=("postgresql", "postgres"),
    port=5432,
    form="postgresql://[USER@]HOST[:PORT]/DATABASE",
    needs_path=True,
)


class Connection(TypedDict):
    """Keyword arguments of `psycopg.connect`."""

    host: str
    port: int
    dbname: str
    user: str
    password: str


@dataclass(frozen=True)
class PostgresEndpoint(Endpoint):
    """A database, and the schema in it that is ours."""

    service: ClassVar[str] = "postgres"

    host: str
    port: int
    database: str
    user: str
    password: str = secret()
    schema: str = "streamgauge"

    @property
    def address(self) -> str:
        """Return the address as it may be shown: without user and password."""
        return f"postgresql://{url_host(self.host)}:{self.port}/{self.database}"

    def connection(self) -> Connection:
        """Return the keyword arguments of `psycopg.connect`."""
        return {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user,
            "password": self.password,
        }


def parse_postgres(given: Given, environ: Mapping[str, str] = os.environ) -> PostgresEndpoint:
    """Read a PostgreSQL URL."""
    url = _FORM.parse(given, environ)
    user = url.user or this_user()
    return PostgresEndpoint(url.host, url.port, url.path, user, url.password)
