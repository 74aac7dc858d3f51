"""Make and read the columns of records, answers and outputs."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.messages import Headers, Integers, integers, refuse

Booleans = npt.NDArray[np.bool_]

MF01, MF02, MF03 = 2, 3, 4
"""Columns of a sensor line."""


def values_of(records: pa.Table) -> pa.Array:
    """Return the values in one piece."""
    values = records["value"]
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


def column(table: pa.Table, name: str) -> Integers:
    """Return a column of whole numbers."""
    return np.asarray(table[name].to_numpy(), dtype=np.int64)


def columns_of(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return all columns by name."""
    return {name: table[name] for name in table.column_names}


def line_rows(records: pa.Table, found: Headers, kept: Booleans) -> pa.Table:
    """Return the expected rows of the records that are kept: the whole line, keyed by its id."""
    mask = pa.array(kept)
    count = int(kept.sum())
    return pa.table(
        {
            "key": found.keys.filter(mask),
            "value": values_of(records).filter(mask),
            "intended": found.intended[kept],
            "appended": column(records, "timestamp")[kept],
            "window_end": pa.nulls(count, pa.int64()),
            "optional": np.zeros(count, dtype=np.bool_),
        },
        schema=EXPECTED,
    )


def output_rows(records: pa.Table, keys: pa.Array) -> pa.Table:
    """Return the outputs under these keys."""
    columns = {"key": keys, "value": records["value"], "emitted": records["timestamp"]}
    return pa.table(columns, schema=OUTPUTS)


def sensor_columns(values: pa.Array, *columns: int) -> list[Integers]:
    """Return columns of sensor lines as numbers; only those near the line's beginning."""
    cells = pc.split_pattern(values, "\t", max_splits=MF03 + 1)
    short = pc.less(pc.list_value_length(cells), MF03 + 2)
    if pc.any(short).as_py():
        refuse(values, short, "it is not a sensor line")
    return [integers(pc.list_element(cells, c), values, f"sensor column {c}") for c in columns]


def is_decimal(text: bytes, decimals: int) -> bool:
    """Return whether this is a plain number with that many decimals, and of sane length."""
    return re.fullmatch(rb"-?(0|[1-9]\d{0,19})\.\d{%d}" % decimals, text) is not None
