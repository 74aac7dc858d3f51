"""SQL statements that define the business tables, composed from their declarations."""

from __future__ import annotations

from collections.abc import Iterable

from psycopg import sql

from streamgauge.workloads.espbench.schema import TABLES, ForeignKey, Table

Statement = sql.Composed


def qualified(schema: str, table: str) -> sql.Identifier:
    """Name a table within its schema; quoted, since one of them is called order."""
    return sql.Identifier(schema, table)


def column_list(columns: Iterable[str]) -> sql.Composed:
    """Write column names with commas between them."""
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def create(schema: str, table: Table) -> Statement:
    """Create a table without its keys: they are cheaper to add when the rows are there."""
    columns = [
        sql.SQL("{} {} {}").format(
            sql.Identifier(name),
            sql.SQL(kind),
            sql.SQL("NULL" if name in table.nullable else "NOT NULL"),
        )
        for name, kind in table.columns.items()
    ]
    return sql.SQL("CREATE TABLE {} ({})").format(
        qualified(schema, table.name), sql.SQL(", ").join(columns)
    )


def add_primary_key(schema: str, table: Table) -> Statement:
    """Declare the primary key."""
    return sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} PRIMARY KEY ({})").format(
        qualified(schema, table.name),
        sql.Identifier(primary_key_name(table)),
        column_list(table.key),
    )


def add_foreign_key(schema: str, table: Table, key: ForeignKey) -> Statement:
    """Declare a foreign key; PostgreSQL checks all rows that are there."""
    return sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({})").format(
        qualified(schema, table.name),
        sql.Identifier(foreign_key_name(table, key)),
        column_list(key.columns),
        qualified(schema, key.table),
        column_list(TABLES[key.table].key),
    )


def drop_keys(schema: str, table: Table) -> Statement:
    """Drop all keys of a table that no other refers to."""
    actions = [
        sql.SQL("DROP CONSTRAINT IF EXISTS {}").format(sql.Identifier(name))
        for name in key_names(table)
    ]
    return sql.SQL("ALTER TABLE {} {}").format(
        qualified(schema, table.name), sql.SQL(", ").join(actions)
    )


def key_names(table: Table) -> list[str]:
    """Name the constraints of a table: its primary key and its foreign keys."""
    return [primary_key_name(table)] + [foreign_key_name(table, key) for key in table.foreign_keys]


def primary_key_name(table: Table) -> str:
    """Name the constraint of the primary key."""
    return f"{table.name}_pkey"


def foreign_key_name(table: Table, key: ForeignKey) -> str:
    """Name the constraint of a foreign key."""
    return f"{table.name}_{key.table}_fkey"
