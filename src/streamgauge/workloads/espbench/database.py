"""The business tables in PostgreSQL: load, check, reset, read back, change."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from psycopg import sql

from streamgauge.errors import NotReady, TrialInvalid, UsageError
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.workloads.espbench import ddl
from streamgauge.workloads.espbench.schema import TABLES, Table
from streamgauge.workloads.espbench.times import LEAVE

Connection = psycopg.Connection[tuple[object, ...]]

_CONNECTIONS = 2
"""Loading keeps two server processes busy: the tables are few and of unequal size."""
_SETTINGS = "-c TimeZone=UTC -c lock_timeout=30s -c maintenance_work_mem=256MB"
_WRITE_CSV = pacsv.WriteOptions(include_header=False, quoting_style="none")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
_NOW_MS = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
READ_MS = "read_ms"
"""Metadata of a table that was read: when, by the database's clock."""


def load(endpoint: PostgresEndpoint, folder: Path) -> None:
    """Replace the tables in the endpoint's schema by those of a cache folder."""
    schema = endpoint.schema
    with _connect(endpoint) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        names = sql.SQL(", ").join(ddl.qualified(schema, name) for name in TABLES)
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(names))
        for table in TABLES.values():
            connection.execute(ddl.create(schema, table))
    by_size = sorted(TABLES.values(), key=lambda table: -_bytes_on_disk(folder, table))
    _share_out(endpoint, [partial(_fill, schema, folder, table) for table in by_size])
    _share_out(
        endpoint,
        [partial(_add_foreign_keys, schema, table) for table in TABLES.values()],
    )
    _remember_folder(endpoint, folder)


def is_loaded(endpoint: PostgresEndpoint, folder: Path) -> bool:
    """Return whether the tables of this cache folder have been loaded completely."""
    with _connect(endpoint) as connection:
        row = connection.execute(
            "SELECT obj_description(to_regclass(%s), 'pg_class')",
            [ddl.qualified(endpoint.schema, "workplace").as_string(connection)],
        ).fetchone()
    return row is not None and row[0] == folder.name


def verify(endpoint: PostgresEndpoint, folder: Path) -> None:
    """Check that every table has its rows, and every key is declared and holds.

    Raises:
        NotReady: Something is missing, or there are too many rows.
    """
    expected = json.loads((folder / "manifest.json").read_text())["rows"]
    with _connect(endpoint) as connection:
        problems = [
            *_wrong_counts(connection, endpoint.schema, expected),
            *_missing_keys(connection, endpoint.schema),
        ]
    if problems:
        raise NotReady(
            f"business tables in schema {endpoint.schema}: {'; '.join(problems)}",
            "load them again; let no other program write to the schema",
        )


def reset(endpoint: PostgresEndpoint, folder: Path, names: Iterable[str]) -> None:
    """Put tables back to the state in which they were generated."""
    for name in names:
        table = TABLES[name]
        with _connect(endpoint) as connection:
            if _is_referred_to(table):
                _merge(connection, endpoint.schema, folder, table)
            else:
                _refill(connection, endpoint.schema, folder, table)


def read(endpoint: PostgresEndpoint, name: str) -> pa.Table:
    """Read a table as it is now, ordered by its key; with the database's time in its metadata."""
    table = TABLES[name]
    query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv)").format(
        sql.SQL(", ").join(_readable(column, kind) for column, kind in table.columns.items()),
        ddl.qualified(endpoint.schema, name),
    )
    buffer = io.BytesIO()
    with _connect(endpoint) as connection:
        with connection.cursor().copy(query) as copy:
            for chunk in copy:
                buffer.write(chunk)
        (now_ms,) = connection.execute(_NOW_MS).fetchone() or (None,)
    if not buffer.tell():
        return table.arrow.empty_table()
    buffer.seek(0)
    rows = pacsv.read_csv(
        buffer,
        pacsv.ReadOptions(column_names=list(table.columns)),
        convert_options=pacsv.ConvertOptions(column_types=table.arrow, null_values=[""]),
    )
    ordered = rows.sort_by([(column, "ascending") for column in table.key])
    return ordered.cast(table.arrow).replace_schema_metadata({READ_MS: str(now_ms)})


def _readable(column: str, kind: str) -> sql.Composable:
    """Select a column; times beyond our range, such as infinity, are cut to it."""
    if kind != "timestamptz":
        return sql.Identifier(column)
    parts = {"c": sql.Identifier(column), "low": sql.Literal(_FIRST), "high": sql.Literal(_LAST)}
    cut = "CASE WHEN {c} < {low} THEN {low} WHEN {c} > {high} THEN {high} ELSE {c} END"
    return sql.SQL(cut).format(**parts)


def set_downtime(endpoint: PostgresEndpoint, workplace: int, start_ms: int, end_ms: int) -> None:
    """Write a downtime of a workplace, both ends included, in epoch milliseconds."""
    update = sql.SQL(
        "UPDATE {} SET wp_downtime_start = %s, wp_downtime_end = %s WHERE wp_id = %s"
    ).format(ddl.qualified(endpoint.schema, "workplace"))
    start, end = (_EPOCH + timedelta(milliseconds=ms) for ms in (start_ms, end_ms))
    with _connect(endpoint) as connection:
        changed = connection.execute(update, [start, end, workplace]).rowcount
    if changed != 1:
        raise UsageError(
            f"there is no workplace {workplace} to give a downtime",
            "choose one from 1 to 10 times `warehouses`, plus 1",
        )


def times_set(endpoint: PostgresEndpoint, events: Sequence[bytes]) -> bool:
    """Return whether each of these production times has been written to its order line."""
    columns = np.array([event.split(b"\t") for event in events], np.int64).reshape(-1, 4).T
    select = sql.SQL(
        "SELECT count(*) FROM {} AS line JOIN unnest(%s::int[], %s::int[], %s::int[], %s::int[])"
        " AS event (o_id, ol_number, pol_number, is_end)"
        " ON (pol_o_id, line.pol_ol_number, line.pol_number)"
        " = (event.o_id, event.ol_number, event.pol_number)"
        " WHERE CASE is_end WHEN {} THEN pol_end_ts ELSE pol_start_ts END IS NOT NULL"
    ).format(ddl.qualified(endpoint.schema, "production_order_line"), sql.Literal(LEAVE))
    with _connect(endpoint) as connection:
        found = connection.execute(select, columns.tolist())
        return found.fetchone() == (len(events),)


@contextmanager
def _connect(endpoint: PostgresEndpoint) -> Iterator[Connection]:
    """Open a connection whose work is committed at the end, or undone on an error."""
    try:
        with psycopg.connect(
            host=endpoint.host,
            port=endpoint.port,
            dbname=endpoint.database,
            user=endpoint.user,
            password=endpoint.password,
            options=_SETTINGS,
        ) as connection:
            yield connection
    except psycopg.Error as error:  # gone, locked, or altered by the engine
        raise TrialInvalid(
            f"business tables at {endpoint.address}: {str(error).strip()}",
            "check that the database runs and that no other client holds locks on the tables",
        ) from error


def _share_out(endpoint: PostgresEndpoint, jobs: Sequence[Callable[[Connection], None]]) -> None:
    """Do the jobs, each in a transaction of its own, over two connections."""

    def do(job: Callable[[Connection], None]) -> None:
        with _connect(endpoint) as connection:
            job(connection)

    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        for _ in pool.map(do, jobs):
            pass


def _fill(schema: str, folder: Path, table: Table, connection: Connection) -> None:
    """Copy the rows into an empty table and declare its primary key."""
    # TRUNCATE in the same transaction allows FREEZE: no later vacuum rewrites the pages.
    name = ddl.qualified(schema, table.name)
    connection.execute(sql.SQL("TRUNCATE {}").format(name))
    copy = sql.SQL("COPY {} FROM STDIN (FORMAT csv, FREEZE)").format(name)
    _copy(connection, copy, folder, table)
    connection.execute(ddl.add_primary_key(schema, table))
    connection.execute(sql.SQL("ANALYZE {}").format(name))


def _add_foreign_keys(schema: str, table: Table, connection: Connection) -> None:
    for key in table.foreign_keys:
        connection.execute(ddl.add_foreign_key(schema, table, key))


def _refill(connection: Connection, schema: str, folder: Path, table: Table) -> None:
    """Truncate and load again; keys are dropped meanwhile, since checking each row takes longer."""
    connection.execute(ddl.drop_keys(schema, table))
    _fill(schema, folder, table, connection)
    _add_foreign_keys(schema, table, connection)


def _merge(connection: Connection, schema: str, folder: Path, table: Table) -> None:
    """Put back single rows: a table that others refer to cannot be truncated."""
    names = {
        "target": ddl.qualified(schema, table.name),
        "columns": ddl.column_list(table.columns),
        "key": ddl.column_list(table.key),
    }
    for statement in (
        "CREATE TEMPORARY TABLE pristine (LIKE {target}) ON COMMIT DROP",
        "COPY pristine FROM STDIN (FORMAT csv)",
        "DELETE FROM {target} WHERE ({key}) NOT IN (SELECT {key} FROM pristine)",
        "INSERT INTO {target} ({columns}) SELECT {columns} FROM pristine"
        " ON CONFLICT ({key}) DO UPDATE SET ({columns}) = ROW (EXCLUDED.*)",
    ):
        query = sql.SQL(statement).format(**names)
        if statement.startswith("COPY"):
            _copy(connection, query, folder, table)
        else:
            connection.execute(query)


def _copy(connection: Connection, query: sql.Composed, folder: Path, table: Table) -> None:
    with connection.cursor().copy(query) as copy:
        for file in sorted((folder / table.name).glob("*.parquet")):
            sink = pa.BufferOutputStream()
            pacsv.write_csv(pq.read_table(file, partitioning=None), sink, _WRITE_CSV)
            copy.write(memoryview(sink.getvalue()))


def _remember_folder(endpoint: PostgresEndpoint, folder: Path) -> None:
    """Note in the database itself which tables it has; the note goes when they are dropped."""
    comment = sql.SQL("COMMENT ON TABLE {} IS {}").format(
        ddl.qualified(endpoint.schema, "workplace"), sql.Literal(folder.name)
    )
    with _connect(endpoint) as connection:
        connection.execute(comment)


def _wrong_counts(connection: Connection, schema: str, expected: dict[str, int]) -> Iterator[str]:
    for name in TABLES:
        count = sql.SQL("SELECT count(*) FROM {}").format(ddl.qualified(schema, name))
        row = connection.execute(count).fetchone()
        if row != (expected[name],):
            yield f"{name} has {row[0] if row else 0} rows instead of {expected[name]}"


def _missing_keys(connection: Connection, schema: str) -> Iterator[str]:
    """Name the keys that PostgreSQL does not guarantee."""
    found = connection.execute(
        "SELECT conname FROM pg_constraint JOIN pg_namespace ON connamespace = pg_namespace.oid"
        " WHERE nspname = %s AND convalidated AND contype IN ('p', 'f')",
        [schema],
    )
    valid = {row[0] for row in found}
    for table in TABLES.values():
        yield from (f"{key} is not declared" for key in ddl.key_names(table) if key not in valid)


def _is_referred_to(table: Table) -> bool:
    return any(key.table == table.name for other in TABLES.values() for key in other.foreign_keys)


def _bytes_on_disk(folder: Path, table: Table) -> int:
    return sum(file.stat().st_size for file in (folder / table.name).iterdir())
