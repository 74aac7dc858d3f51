"""ESPBench on the reference engine: tables, printing and the writing of processing times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import psycopg
import pyarrow as pa
from psycopg import sql

from streamgauge.engines.reference.faults import Output
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.spec.endpoints import Services
from streamgauge.workloads.espbench import database, ddl

_TABLE = "production_order_line"
_COLUMNS = {"start": "pol_start_ts", "end": "pol_end_ts"}
_UPDATE = """
UPDATE {table} SET {column} = COALESCE({column}, clock_timestamp())
FROM unnest(%s::int[], %s::int[], %s::int[]) AS seen (o_id, ol_number, line_number)
WHERE (pol_o_id, pol_ol_number, pol_number) = (o_id, ol_number, line_number)
"""
_SPOIL = {
    "early": "UPDATE {table} SET {column} = clock_timestamp() - interval '1 hour' WHERE {row}",
    "touch": (
        "UPDATE {table} SET pol_quantity = pol_quantity + 1 WHERE NOT {row} AND"
        " (pol_o_id, pol_ol_number) = (SELECT max(pol_o_id), 1 FROM {table})"
    ),
}
_ROW = sql.SQL("(pol_o_id, pol_ol_number, pol_number) = (%s, %s, %s)")


def tables(query: str, services: Services) -> Mapping[str, pa.Table]:
    """Read the table of workplaces, for q4."""
    if query != "q4":
        return {}
    return {"workplace": database.read(PostgresEndpoint.of(services["postgres"]), "workplace")}


def printed(query: str, exact: bytes) -> bytes | None:
    """Print the outlier probability of q2 with two decimals; everything else is exact."""
    if query != "q2":
        return exact
    line, _, probability = exact.rpartition(b",")
    return b"%b,%.2f" % (line, float(probability)) if float(probability) >= 0.5 else None


def writer(query: str, services: Services) -> TimesWriter:  # noqa: ARG001 - only q5
    """Return what writes the processing times of q5."""
    return TimesWriter(PostgresEndpoint.of(services["postgres"]))


class TimesWriter:
    """Sets start or end of order lines by key: `o_id,ol_number,pol_number,start|end`."""

    def __init__(self, postgres: PostgresEndpoint) -> None:
        self._table = ddl.qualified(postgres.schema, _TABLE)
        self._unset: set[str] = set()
        self._connection = psycopg.connect(
            host=postgres.host,
            port=postgres.port,
            dbname=postgres.database,
            user=postgres.user,
            password=postgres.password,
            autocommit=True,
        )

    def write(self, outputs: Sequence[Output]) -> None:
        """Set the times of their keys to the database's clock; the first write wins."""
        keys = [output.key for output in outputs if output.key not in self._unset]
        for what, column in _COLUMNS.items():
            rows = [_row(key) for key in keys if key.endswith(what)]
            if rows:
                statement = sql.SQL(_UPDATE).format(
                    table=self._table, column=sql.Identifier(column)
                )
                self._connection.execute(statement, [list(c) for c in zip(*rows, strict=True)])

    def spoil(self, fault: str, output: Output) -> None:
        """Leave a time unset, set it too early, or change what is not ours to change."""
        key = output.key
        if fault == "unset":
            self._unset.add(key)
            return
        column = sql.Identifier(_COLUMNS[key.rpartition(",")[2]])
        statement = sql.SQL(_SPOIL[fault]).format(table=self._table, column=column, row=_ROW)
        self._connection.execute(statement, _row(key))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _row(key: str) -> tuple[int, ...]:
    return tuple(int(number) for number in key.split(",")[:3])
