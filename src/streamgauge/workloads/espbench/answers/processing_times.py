"""Answers of q5: times that are set in the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.messages import headers, refuse
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.espbench.answers.columns import (
    Booleans,
    column,
    columns_of,
    line_rows,
    output_rows,
    values_of,
)

_PARTS = 10
_FOREVER_MS = 2**62
_TO_COME = b"a time that was still to come"


@dataclass(frozen=True)
class ProcessingTimes:
    """Answers of q5: one timestamp set for each record, never before it was appended."""

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = False
    keys: ClassVar[tuple[str, ...]] = ("pol_o_id", "pol_ol_number", "pol_number")
    times: ClassVar[Mapping[str, str]] = {"pol_start_ts": "start", "pol_end_ts": "end"}

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return `o_id,ol_number,pol_number,start|end` of each record."""
        records = records.combine_chunks()
        values = values_of(records)
        found = headers(values)
        pattern = r"^\d+;\d+;(?P<o>\d+)\t(?P<ol>\d+)\t(?P<pol>\d+)\t(?P<is_end>[01])$"
        cells = pc.extract_regex(values, pattern=pattern)
        if cells.null_count:
            refuse(values, pc.is_null(cells), "it is not a line of the production times")
        parts = [pc.cast(pc.struct_field(cells, name), pa.string()) for name in ("o", "ol", "pol")]
        ends = pc.equal(pc.struct_field(cells, "is_end"), pa.scalar(b"1"))
        rows = line_rows(records, found, np.ones(len(records), dtype=np.bool_))
        columns = {
            "key": pc.binary_join_element_wise(*parts, pc.if_else(ends, "end", "start"), ","),
            "value": pa.array([b""] * len(records), pa.binary()),
        }
        return pa.table({**columns_of(rows), **columns}, schema=EXPECTED)

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return the rows as they are: each key comes from one record."""
        return partials

    def outputs(self, records: pa.Table) -> pa.Table:
        """Treat any message as unexpected: this query writes to a table."""
        return output_rows(records, pa.nulls(len(records), pa.string()))

    def table_outputs(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Return the changes to the table: times that were set, and all that should not be."""
        before, after = tables["production_order_line.pristine"], tables["production_order_line"]
        read_ms = int((after.schema.metadata or {}).get(b"read_ms", _FOREVER_MS))
        pairs = zip(_parts(before), _parts(after), strict=True)
        found = [self._changes(*pair, read_ms) for pair in pairs]
        return pa.concat_tables([OUTPUTS.empty_table(), *found])

    def _changes(self, before: pa.Table, after: pa.Table, read_ms: int) -> pa.Table:
        others = [c for c in before.column_names if c not in (*self.keys, *self.times)]
        both = before.append_column("there", pa.repeat(True, len(before))).join(
            after.append_column("there", pa.repeat(True, len(after))),
            keys=list(self.keys),
            join_type="full outer",
            left_suffix=".before",
            right_suffix=".after",
        )
        parts = [
            _set_times(both, name, what, self.keys, read_ms) for name, what in self.times.items()
        ]
        parts.append(_touched(both, others, tuple(self.times), self.keys))
        return pa.concat_tables(parts)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return which times were neither set before their record was appended nor are to come."""
        in_time = column(outputs, "emitted") >= column(expected, "appended")
        same = pc.equal(expected["value"], outputs["value"]).to_numpy()
        return np.asarray(in_time & same, dtype=np.bool_)


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    """Cut a table by order, so that two can be joined piece by piece and in little memory."""
    orders = column(table, "pol_o_id") % _PARTS
    return (table.filter(pa.array(orders == part)) for part in range(_PARTS))


def _set_times(
    both: pa.Table, name: str, what: str, keys: tuple[str, ...], read_ms: int
) -> pa.Table:
    """Return the times that were null before and are set after.

    The database's clock cannot have shown a time that was still to come when the table was read.
    """
    was_null = pc.and_(pc.is_valid(both["there.before"]), pc.is_null(both[f"{name}.before"]))
    rows = both.filter(pc.and_(was_null, pc.is_valid(both[f"{name}.after"])))
    parts = [pc.cast(rows[key], pa.string()) for key in keys]
    emitted = _floor_ms(rows[f"{name}.after"])
    return pa.table(
        {
            "key": pc.binary_join_element_wise(*parts, what, ","),
            "value": pc.if_else(pc.greater(emitted, read_ms), _TO_COME, b""),
            "emitted": emitted,
        },
        schema=OUTPUTS,
    )


def _touched(
    both: pa.Table, others: list[str], times: tuple[str, ...], keys: tuple[str, ...]
) -> pa.Table:
    """Return rows that came, went or were changed where no query should."""
    there = pc.and_(pc.is_valid(both["there.before"]), pc.is_valid(both["there.after"]))
    bad = pc.invert(there)
    for name in others:
        bad = pc.or_(bad, pc.invert(_equal(both, name)))
    for name in times:
        was_set = pc.is_valid(both[f"{name}.before"])
        bad = pc.or_(bad, pc.and_(was_set, pc.invert(_equal(both, name))))
    rows = both.filter(bad)
    parts = [pc.cast(rows[key], pa.string()) for key in keys]
    texts = pc.binary_join_element_wise("production_order_line", *parts, ",")
    return pa.table(
        {
            "key": pa.nulls(len(rows), pa.string()),
            "value": pc.cast(texts, pa.binary()),
            "emitted": np.zeros(len(rows), dtype=np.int64),
        },
        schema=OUTPUTS,
    )


def _equal(both: pa.Table, name: str) -> pa.ChunkedArray:
    """Return where a column is the same before and after; null equals null."""
    before, after = both[f"{name}.before"], both[f"{name}.after"]
    nulls = pc.and_(pc.is_null(before), pc.is_null(after))
    return pc.or_(nulls, pc.fill_null(pc.equal(before, after), False))


def _floor_ms(times: pa.ChunkedArray) -> pa.ChunkedArray:
    exact = pc.cast(pc.cast(times, pa.timestamp("us", tz=times.type.tz)), pa.int64())
    # Times since 1970 are positive, so integer division rounds down.
    return pc.divide(exact, 1_000)
