"""A database server that somebody else runs: checked before use, never started or stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamgauge.errors import NotReady, TrialInvalid
from streamgauge.services.given import GivenService, measure_offset
from streamgauge.services.postgres.endpoint import PostgresEndpoint

if TYPE_CHECKING:
    import psycopg

ANSWER_WITHIN_S = 15.0


class GivenPostgres(GivenService[PostgresEndpoint]):
    """A database server given by address; only our schema in it is ours."""

    name = "postgres"
    role = "database"

    def __init__(self, endpoint: PostgresEndpoint) -> None:
        self.endpoint = endpoint

    def place(self) -> tuple[str, int]:
        """Return host and port of the server."""
        return self.endpoint.host, self.endpoint.port

    def check(self) -> None:
        """Connect, and check that our schema exists or may be created."""
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
            raise TrialInvalid(f"PostgreSQL's clock cannot be read: {reason}") from error

    def _refused(self, reason: str) -> NotReady:
        remedy = "check the address, and that the server accepts connections from here"
        if "password" in reason or "authentication" in reason:
            remedy = (
                "give the password in STREAMGAUGE_POSTGRES_PASSWORD, in a file named by"
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
