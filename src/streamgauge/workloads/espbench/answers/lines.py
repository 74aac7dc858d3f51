"""Answers of the queries that pass lines on: identity, q3 and q4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.errors import TrialInvalid
from streamgauge.measure.messages import Headers, Integers, headers, integers, output_keys, refuse
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.espbench.answers.columns import (
    MF01,
    MF03,
    Booleans,
    line_rows,
    output_rows,
    sensor_columns,
    values_of,
)


@dataclass(frozen=True)
class Lines:
    """Answers of a query that passes lines on: the key is the id, the value the whole line."""

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = False

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return one row for each record that the query passes on."""
        records = records.combine_chunks()
        found = headers(values_of(records))
        kept = self.kept(records, found, context)
        return line_rows(records, found, kept)

    def kept(self, records: pa.Table, found: Headers, context: AnswerContext) -> Booleans:  # noqa: ARG002
        """Return which records the query passes on; here all."""
        return np.ones(len(records), dtype=np.bool_)

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return the rows as they are: each key comes from one record."""
        return partials

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with the id they begin with as key."""
        return output_rows(records, output_keys(values_of(records)))

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return which lines are the same, byte for byte."""
        same = pc.fill_null(pc.equal(expected["value"], outputs["value"]), False)
        return np.asarray(same.to_numpy(), dtype=np.bool_)


@dataclass(frozen=True)
class Identity(Lines):
    """Answers of identity: every line."""


@dataclass(frozen=True)
class Errors(Lines):
    """Answers of q3: lines of a machine that draws too much power."""

    threshold: ClassVar[int] = 14_963

    def kept(self, records: pa.Table, found: Headers, context: AnswerContext) -> Booleans:  # noqa: ARG002
        """Keep lines above the threshold."""
        (mf01,) = sensor_columns(values_of(records), MF01)
        return np.asarray(mf01 > self.threshold)


@dataclass(frozen=True)
class MachinePower(Lines):
    """Answers of q4: lines of a machine that draws too little power though it is not down."""

    threshold: ClassVar[int] = 8_105

    def kept(self, records: pa.Table, found: Headers, context: AnswerContext) -> Booleans:
        """Keep lines below the threshold, outside the workplace's downtime."""
        values = values_of(records)
        (mf03,) = sensor_columns(values, MF03)
        low = mf03 < self.threshold
        workplaces = _workplaces(values.filter(pa.array(low)))
        low[low] = ~_down(workplaces, found.intended[low], context.tables["workplace"])
        return np.asarray(low)


def _workplaces(values: pa.Array) -> Integers:
    found = pc.extract_regex(values, pattern=r"\t(?P<workplace>\d+)$")
    if found.null_count:
        refuse(values, pc.is_null(found), "it does not end with a workplace")
    return integers(pc.struct_field(found, "workplace"), values, "workplace")


def _down(workplaces: Integers, intended: Integers, table: pa.Table) -> Booleans:
    """Return which of the times lie within the downtime of their workplace, ends included."""
    downtimes = {row["wp_id"]: row for row in _microseconds(table).to_pylist()}
    down = np.zeros(len(workplaces), dtype=np.bool_)
    for workplace in np.unique(workplaces):
        if int(workplace) not in downtimes:
            raise TrialInvalid(f"the table of workplaces has no workplace {workplace}")
        row = downtimes[int(workplace)]
        start, end = row["wp_downtime_start"], row["wp_downtime_end"]
        if start is not None and end is not None:
            times = intended * 1_000
            down |= (workplaces == workplace) & (times >= start) & (times <= end)
    return down


def _microseconds(table: pa.Table) -> pa.Table:
    """Turn the table's timestamps into whole numbers."""
    for place, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type):
            zone = column.type.tz
            exact = pc.cast(table[column.name], pa.timestamp("us", tz=zone))
            table = table.set_column(place, column.name, pc.cast(exact, pa.int64()))
    return table
