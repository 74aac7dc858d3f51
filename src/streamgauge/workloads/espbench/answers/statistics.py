"""Answers of q1: statistics of each second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED
from streamgauge.measure.messages import Integers, headers
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.espbench.answers.columns import (
    MF01,
    Booleans,
    column,
    is_decimal,
    output_rows,
    sensor_columns,
    values_of,
)

_AFTER = b"after"
"""Begins the partial value of a record in the next window."""


@dataclass(frozen=True)
class Statistics:
    """Answers of q1: average, least, greatest and count of mf01 in each second of append time.

    Where records close windows, a second may lack its answer if a partition has no record in the
    next one.
    """

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True
    window_ms: ClassVar[int] = 1_000

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return one row per window with `sum,min,max,count` of these records as value.

        Where records close windows there is another one, with `after` and the partition, for each
        window before that of a record.
        """
        records = records.combine_chunks()
        values = values_of(records)
        (mf01,) = sensor_columns(values, MF01)
        appended = column(records, "timestamp")
        rows = pa.table(
            {
                "window": appended - appended % self.window_ms,
                "mf01": mf01,
                "intended": headers(values).intended,
                "appended": appended,
            }
        )
        partials = rows.group_by("window").aggregate(
            [
                *[("mf01", how) for how in ("sum", "min", "max", "count")],
                *[(time, "max") for time in ("intended", "appended")],
            ]
        )
        found = self._rows(partials, _partial_values(partials))
        if not context.closed_by or not len(records):
            return found
        after = f"{_AFTER.decode()} {records['partition'][0].as_py()}".encode()
        before = column(partials, "window") - self.window_ms
        marks = partials.set_column(0, "window", pa.array(before))
        return pa.concat_tables([found, self._rows(marks, [after] * len(marks))])

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Return one row per window with `window_start_ms,avg,min,max,count` as value."""
        marks = pc.starts_with(partials["value"], _AFTER)
        closed = _closed(partials.filter(marks), context.closed_by)
        partials = partials.filter(pc.invert(marks))
        total = (
            _partial_columns(partials)
            .group_by("window")
            .aggregate(
                [
                    ("sum", "sum"),
                    ("min", "min"),
                    ("max", "max"),
                    ("count", "sum"),
                    ("intended", "max"),
                    ("appended", "max"),
                ]
            )
        )
        open_still = column(total, "window") + self.window_ms > context.horizon_ms
        optional = open_still
        if context.closed_by:
            optional = open_still | ~np.isin(column(total, "window"), closed)
        return self._rows(total, _final_values(total, open_still), optional)

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with the window's start as key."""
        found = pc.extract_regex(values_of(records), pattern=r"^(?P<start>\d+),")
        starts = pc.cast(pc.struct_field(found, "start"), pa.string())
        keys = pc.if_else(pc.is_valid(found), starts, pa.scalar(None, pa.string()))
        return output_rows(records, keys)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return where the averages differ by at most the last digit, and nothing else does."""
        pairs = zip(expected["value"].to_pylist(), outputs["value"].to_pylist(), strict=True)
        return np.array([_same_statistics(mine, theirs) for mine, theirs in pairs], dtype=np.bool_)

    def _rows(
        self, windows: pa.Table, values: list[bytes | None], optional: Booleans | None = None
    ) -> pa.Table:
        start = column(windows, "window")
        return pa.table(
            {
                "key": pc.cast(pa.array(start), pa.string()),
                "value": pa.array(values, pa.binary()),
                "intended": windows["intended_max"],
                "appended": windows["appended_max"],
                "window_end": start + self.window_ms,
                "optional": np.zeros(len(start), dtype=np.bool_) if optional is None else optional,
            },
            schema=EXPECTED,
        )


def _closed(marks: pa.Table, partitions: int) -> Integers:
    """Return the windows that are followed by a record in that many partitions."""
    by = marks.select(["key", "value"]).group_by("key").aggregate([("value", "count_distinct")])
    closed = by.filter(pc.field("value_count_distinct") == partitions)
    return column(closed.set_column(0, "key", pc.cast(closed["key"], pa.int64())), "key")


def _partial_values(windows: pa.Table) -> list[bytes | None]:
    columns = [windows[f"mf01_{how}"].to_pylist() for how in ("sum", "min", "max", "count")]
    return [b"%d,%d,%d,%d" % row for row in zip(*columns, strict=True)]


def _partial_columns(partials: pa.Table) -> pa.Table:
    """Read the partial values back into columns."""
    numbers = [[int(n) for n in value.split(b",")] for value in partials["value"].to_pylist()]
    table = np.array(numbers, dtype=np.int64).reshape(-1, 4)
    return pa.table(
        {
            "window": pc.cast(partials["key"], pa.int64()),
            "intended": partials["intended"],
            "appended": partials["appended"],
            **{name: table[:, i] for i, name in enumerate(("sum", "min", "max", "count"))},
        }
    )


def _final_values(windows: pa.Table, open_still: Booleans) -> list[bytes | None]:
    names = ("window", "sum_sum", "min_min", "max_max", "count_sum")
    rows = zip(*[windows[name].to_pylist() for name in names], open_still, strict=True)
    return [
        None if is_open else f"{start},{total / n:.6f},{least},{most},{n}".encode()
        for start, total, least, most, n, is_open in rows
    ]


def _same_statistics(expected: bytes, output: bytes) -> bool:
    mine, theirs = expected.split(b","), output.split(b",")
    if len(theirs) != len(mine) or not is_decimal(theirs[1], 6):
        return False
    millionths = [int(fields[1].replace(b".", b"")) for fields in (mine, theirs)]
    return mine[2:] == theirs[2:] and abs(millionths[0] - millionths[1]) <= 1
