"""The table that uc1 stores records in.

Rows are written by engines and by the reference engine alike, and never twice: a repeated row
changes nothing.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv as pacsv
from psycopg import sql

from streamgauge.errors import TrialInvalid
from streamgauge.services.postgres.endpoint import PostgresEndpoint

RECORDS = pa.schema(
    [
        ("id", pa.int64()),
        ("identifier", pa.string()),
        ("timestamp", pa.int64()),
        ("value_in_w", pa.float64()),
        ("json", pa.string()),
    ]
)
"""What is written."""
STORED = RECORDS.append(pa.field("written_ms", pa.int64()))
"""What is read: the last column is the database's clock, just before a row was committed."""

_TABLE = "theodolite_records"
_COLUMNS = (
    "id bigint{key}, identifier text, timestamp bigint, value_in_w double precision, json text"
)
_NOW_MS = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_CSV = pacsv.WriteOptions(include_header=False)
Connection = psycopg.Connection[Any]


class Writer:
    """Writes records in batches, each in a transaction of its own."""

    def __init__(self, endpoint: PostgresEndpoint) -> None:
        self._connection = psycopg.connect(**endpoint.connection(), autocommit=True)
        self._insert = sql.SQL(
            "INSERT INTO {} SELECT new.*, {} FROM pg_temp.new ON CONFLICT (id) DO NOTHING"
        ).format(_name(endpoint), sql.SQL(_NOW_MS))
        columns = sql.SQL(_COLUMNS.format(key=""))
        self._connection.execute(
            sql.SQL("CREATE TEMPORARY TABLE new ({}) ON COMMIT DELETE ROWS").format(columns)
        )

    def write(self, records: pa.Table) -> None:
        """Write records; those that are already there stay as they are."""
        sink = pa.BufferOutputStream()
        pacsv.write_csv(records, sink, _CSV)
        with self._connection.transaction(), self._connection.cursor() as cursor:
            with cursor.copy("COPY pg_temp.new FROM STDIN (FORMAT csv)") as copy:
                copy.write(memoryview(sink.getvalue()))
            cursor.execute(self._insert)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


_writers: dict[PostgresEndpoint, Writer] = {}
"""Of this process."""


def write(endpoint: PostgresEndpoint, records: pa.Table) -> None:
    """Write records over the connection of this process; after an error the next one is new."""
    if endpoint not in _writers:
        _writers[endpoint] = Writer(endpoint)
    try:
        _writers[endpoint].write(records)
    except psycopg.Error:
        _writers.pop(endpoint).close()
        raise


def reset(endpoint: PostgresEndpoint) -> None:
    """Make the table again, empty."""
    columns = sql.SQL(_COLUMNS.format(key=" PRIMARY KEY"))
    with _connected(endpoint) as connection:
        schema = sql.Identifier(endpoint.schema)
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_name(endpoint)))
        connection.execute(
            sql.SQL("CREATE TABLE {} ({}, written_ms bigint)").format(_name(endpoint), columns)
        )


def read(endpoint: PostgresEndpoint) -> pa.Table:
    """Read all rows."""
    buffer = io.BytesIO()
    with _connected(endpoint) as connection, connection.cursor() as cursor:
        query = sql.SQL("COPY {} TO STDOUT (FORMAT csv)").format(_name(endpoint))
        with cursor.copy(query) as copy:
            for chunk in copy:
                buffer.write(chunk)
    if not buffer.tell():
        return STORED.empty_table()
    buffer.seek(0)
    return pacsv.read_csv(
        buffer,
        pacsv.ReadOptions(column_names=STORED.names),
        convert_options=pacsv.ConvertOptions(
            column_types=STORED, null_values=[""], strings_can_be_null=True
        ),
    )


def has(endpoint: PostgresEndpoint, ids: Sequence[int]) -> bool:
    """Return whether there is a row for each of these ids."""
    query = sql.SQL("SELECT count(*) FROM {} WHERE id = ANY (%s)").format(_name(endpoint))
    with _connected(endpoint) as connection:
        return connection.execute(query, [list(ids)]).fetchone() == (len(ids),)


def _name(endpoint: PostgresEndpoint) -> sql.Identifier:
    return sql.Identifier(endpoint.schema, _TABLE)


@contextmanager
def _connected(endpoint: PostgresEndpoint) -> Iterator[Connection]:
    """Connect for the harness, whose errors say nothing about the engine."""
    try:
        with psycopg.connect(**endpoint.connection()) as connection:
            yield connection
    except psycopg.Error as error:
        raise TrialInvalid(
            f"the table {_TABLE} at {endpoint.address}: {str(error).strip()}",
            "check that the database runs, and that no other program uses the table",
        ) from error
