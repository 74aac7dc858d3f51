"""uc1: each record as JSON, emitted or stored, under its id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.messages import output_keys
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.form import JSON
from streamgauge.workloads.theodolite.answers.readings import NUMBER, readings

CLOCKS_APART_MS = 5
"""In a valid trial clocks differ by less than this."""
_FIELDS = ("id", "identifier", "timestamp", "value")
_STORED = (
    r'^\s*\{\s*"id"\s*:\s*(?P<id>\d{1,18})\s*,\s*"identifier"\s*:\s*"(?P<identifier>[^"]*)"\s*,'
    r'\s*"timestamp"\s*:\s*(?P<timestamp>\d{1,18})\s*,'
    rf'\s*"valueInW"\s*:\s*(?P<value>{NUMBER})\s*\}}\s*$'
)


@dataclass(frozen=True)
class Stored:
    """`{"id":7,"identifier":"s_1","timestamp":1700000000000,"valueInW":12.25}` of each record."""

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = False

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return the JSON of these records."""
        found = readings(records)
        columns = {
            "key": found["id"],
            "value": _json(found),
            "intended": found["timestamp"],
            "appended": found["appended"],
            "window_end": pa.nulls(len(found), pa.int64()),
            "optional": np.zeros(len(found), dtype=np.bool_),
        }
        return pa.table(columns, schema=EXPECTED)

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return the rows as they are: they are complete."""
        return partials

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs by their ids."""
        keys = output_keys(records["value"].combine_chunks(), JSON)
        columns = {"key": keys, "value": records["value"], "emitted": records["timestamp"]}
        return pa.table(columns, schema=OUTPUTS)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> npt.NDArray[np.bool_]:
        """Return which outputs have the fields of their record."""
        right = pc.fill_null(pc.equal(expected["value"], outputs["value"]), False).to_numpy()
        same = np.array(right, dtype=np.bool_)
        others = np.flatnonzero(~same)
        ours, theirs = (_read(table["value"].take(others)) for table in (expected, outputs))
        same[others] = _all_equal(ours, theirs).to_numpy(zero_copy_only=False)
        return same


@dataclass(frozen=True)
class Rows(Stored):
    """The same as a row of a table, with its JSON and its fields in columns of their own."""

    def agree(self, expected: pa.Table, outputs: pa.Table) -> npt.NDArray[np.bool_]:
        """Return which rows are right, and were not written before their record was there."""
        since_ms = outputs["emitted"].to_numpy() - expected["appended"].to_numpy()
        in_time: npt.NDArray[np.bool_] = since_ms >= -CLOCKS_APART_MS
        return in_time & super().agree(expected, outputs)

    def table_outputs(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Return the JSON of each row, preceded by its columns where they differ from it."""
        rows = tables["records"].combine_chunks()
        values = rows["json"].combine_chunks()
        agree = _all_equal(_read(rows["json"]), _columns(rows))
        columns = [pc.cast(column, pa.string()) for column in _columns(rows)]
        differing = pc.binary_join_element_wise(*columns, pc.cast(values, pa.string()), ",")
        value = pc.if_else(agree, pc.cast(values, pa.string()), differing)
        return pa.table(
            {
                "key": pc.cast(rows["id"], pa.string()),
                "value": pc.cast(value, pa.binary()),
                "emitted": rows["written_ms"],
            },
            schema=OUTPUTS,
        )


def _columns(rows: pa.Table) -> list[pa.Array]:
    names = ("id", "identifier", "timestamp", "value_in_w")
    return [rows[name].combine_chunks() for name in names]


def _all_equal(ours: Sequence[pa.Array], theirs: Sequence[pa.Array]) -> pa.Array:
    """Return in which rows all fields are there and the same."""
    return pc.fill_null(reduce(pc.and_, map(pc.equal, ours, theirs)), False)


def _json(found: pa.Table) -> pa.Array:
    pieces = (
        '{"id":',
        found["id"],
        ',"identifier":"',
        found["identifier"],
        '","timestamp":',
        pc.cast(found["timestamp"], pa.string()),
        ',"valueInW":',
        found["written"],
        "}",
    )
    whole = [each if isinstance(each, str) else each.combine_chunks() for each in pieces]
    return pc.cast(pc.binary_join_element_wise(*whole, ""), pa.binary())


def _read(values: pa.ChunkedArray) -> list[pa.Array]:
    """Return id, identifier, timestamp and power of each; null where they cannot be read."""
    found = pc.extract_regex(pc.cast(values.combine_chunks(), pa.binary()), pattern=_STORED)
    known = pc.is_valid(found)
    kinds = (pa.int64(), pa.string(), pa.int64(), pa.float64())
    cells = (pc.cast(pc.struct_field(found, name), pa.string()) for name in _FIELDS)
    nothing = pa.scalar(None, pa.string())
    return [
        pc.cast(pc.if_else(known, cell, nothing), kind)
        for cell, kind in zip(cells, kinds, strict=True)
    ]
