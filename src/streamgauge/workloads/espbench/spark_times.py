"""Writes processing times to the database, batch by batch, from Spark's driver."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from streamgauge.services.postgres.endpoint import PostgresEndpoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BATCH_RECORDS = 5_000
LINE = ["o_id", "ol_number", "pol_number"]

# The first write wins, so that a batch that is repeated after a failure changes nothing.
_UPDATE = """
UPDATE {table} AS pol SET
    pol_start_ts = CASE WHEN entered THEN COALESCE(pol_start_ts, clock_timestamp())
                        ELSE pol_start_ts END,
    pol_end_ts = CASE WHEN has_left THEN COALESCE(pol_end_ts, clock_timestamp())
                      ELSE pol_end_ts END
FROM unnest(%b::int[], %b::int[], %b::int[], %b::bool[], %b::bool[])
    AS seen (o_id, ol_number, pol_number, entered, has_left)
WHERE pol.pol_o_id = seen.o_id AND pol.pol_ol_number = seen.ol_number
  AND pol.pol_number = seen.pol_number
"""


class TimesWriter:
    """Sets start and end of order lines; one connection, opened with the first batch."""

    def __init__(self, postgres: PostgresEndpoint) -> None:
        self._postgres = postgres

    def write(self, batch: DataFrame, number: int) -> None:  # noqa: ARG002 - Spark's contract
        """Write one micro-batch, some thousand records per statement, each its own transaction."""
        records = batch.toArrow()
        for begin in range(0, len(records), BATCH_RECORDS):
            self._connection.execute(
                self._update, columns_by_line(records.slice(begin, BATCH_RECORDS))
            )

    @cached_property
    def _connection(self) -> psycopg.Connection:
        return psycopg.connect(**self._postgres.connection(), autocommit=True)

    @property
    def _update(self) -> sql.Composed:
        table = sql.Identifier(self._postgres.schema, "production_order_line")
        return sql.SQL(_UPDATE).format(table=table)


def columns_by_line(records: pa.Table) -> list[list[object]]:
    """Bring enter and leave of an order line together: one row version instead of two."""
    ended = pc.equal(records["is_end"], 1)
    marked = records.append_column("has_left", ended).append_column("entered", pc.invert(ended))
    lines = marked.group_by(LINE).aggregate([("entered", "max"), ("has_left", "max")])
    return [lines[name].to_pylist() for name in (*LINE, "entered_max", "has_left_max")]
