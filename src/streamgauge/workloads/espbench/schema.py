"""The business tables: TPC-C's customer, item, order and order line, and the factory's own.

Columns and keys are declared here once; the DDL, the Arrow schemas and the order in which
tables are loaded derive from it. As in the original, ids are unique across warehouses and
districts, so that a production order can refer to just (O_ID, OL_NUMBER).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")
_ARROW_TYPES: Mapping[str, pa.DataType] = {
    "integer": pa.int32(),
    "timestamptz": TIMESTAMP,
    "numeric(12,2)": pa.decimal128(12, 2),
    "numeric(6,2)": pa.decimal128(6, 2),
    "numeric(5,2)": pa.decimal128(5, 2),
    "numeric(4,4)": pa.decimal128(4, 4),
}


@dataclass(frozen=True)
class ForeignKey:
    """Refer to the primary key of another table."""

    columns: tuple[str, ...]
    table: str


@dataclass(frozen=True)
class Table:
    """Declare a table: its columns by name with their SQL type, and its keys."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    nullable: frozenset[str] = frozenset()

    @property
    def arrow(self) -> pa.Schema:
        """Give the table's Arrow schema: what PostgreSQL calls text of any length is a string."""
        return pa.schema(
            pa.field(name, _ARROW_TYPES.get(kind, pa.string()), name in self.nullable)
            for name, kind in self.columns.items()
        )


_CUSTOMER = Table(
    "customer",
    {
        "c_id": "integer",
        "c_first": "varchar(16)",
        "c_middle": "char(2)",
        "c_last": "varchar(16)",
        "c_street_1": "varchar(20)",
        "c_street_2": "varchar(20)",
        "c_city": "varchar(20)",
        "c_state": "char(2)",
        "c_zip": "char(9)",
        "c_phone": "char(16)",
        "c_since": "timestamptz",
        "c_credit": "char(2)",
        "c_credit_lim": "numeric(12,2)",
        "c_discount": "numeric(4,4)",
        "c_balance": "numeric(12,2)",
        "c_ytd_payment": "numeric(12,2)",
        "c_payment_cnt": "integer",
        "c_delivery_cnt": "integer",
        "c_data": "varchar(500)",
    },
    key=("c_id",),
)

_ITEM = Table(
    "item",
    {
        "i_id": "integer",
        "i_im_id": "integer",
        "i_name": "varchar(24)",
        "i_price": "numeric(5,2)",
        "i_data": "varchar(50)",
    },
    key=("i_id",),
)

_ORDER = Table(
    "order",
    {
        "o_id": "integer",
        "o_c_id": "integer",
        "o_entry_d": "timestamptz",
        "o_carrier_id": "integer",
        "o_ol_cnt": "integer",
        "o_all_local": "integer",
    },
    key=("o_id",),
    foreign_keys=(ForeignKey(("o_c_id",), "customer"),),
    nullable=frozenset({"o_carrier_id"}),
)

_ORDER_LINE = Table(
    "order_line",
    {
        "ol_o_id": "integer",
        "ol_number": "integer",
        "ol_i_id": "integer",
        "ol_supply_w_id": "integer",
        "ol_delivery_d": "timestamptz",
        "ol_quantity": "integer",
        "ol_amount": "numeric(6,2)",
        "ol_dist_info": "char(24)",
    },
    key=("ol_o_id", "ol_number"),
    foreign_keys=(ForeignKey(("ol_o_id",), "order"), ForeignKey(("ol_i_id",), "item")),
    nullable=frozenset({"ol_delivery_d"}),
)

_PRODUCTION_ORDER = Table(
    "production_order",
    {"po_o_id": "integer", "po_ol_number": "integer", "po_date": "timestamptz"},
    key=("po_o_id", "po_ol_number"),
    foreign_keys=(ForeignKey(("po_o_id", "po_ol_number"), "order_line"),),
)

_PRODUCTION_ORDER_LINE = Table(
    "production_order_line",
    {
        "pol_o_id": "integer",
        "pol_ol_number": "integer",
        "pol_number": "integer",
        "pol_i_id": "integer",
        "pol_quantity": "integer",
        "pol_wp_id": "integer",
        "pol_start_ts": "timestamptz",
        "pol_end_ts": "timestamptz",
    },
    key=("pol_o_id", "pol_ol_number", "pol_number"),
    foreign_keys=(
        ForeignKey(("pol_o_id", "pol_ol_number"), "production_order"),
        ForeignKey(("pol_i_id",), "item"),
        ForeignKey(("pol_wp_id",), "workplace"),
    ),
    nullable=frozenset({"pol_start_ts", "pol_end_ts"}),
)

_WORKPLACE = Table(
    "workplace",
    {
        "wp_id": "integer",
        "wp_downtime_start": "timestamptz",
        "wp_downtime_end": "timestamptz",
    },
    key=("wp_id",),
    nullable=frozenset({"wp_downtime_start", "wp_downtime_end"}),
)

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        _CUSTOMER,
        _ITEM,
        _WORKPLACE,
        _ORDER,
        _ORDER_LINE,
        _PRODUCTION_ORDER,
        _PRODUCTION_ORDER_LINE,
    )
}
"""Every business table by name; one that is referred to comes before those that refer to it."""
