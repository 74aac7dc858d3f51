"""uc4: what the members of each group consume in each window, level by level up to the root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.theodolite.answers.readings import (
    NUMBER,
    Integers,
    lines_like,
    numbers,
    packed,
    readings,
    texts,
    unpacked,
)
from streamgauge.workloads.theodolite.data import STEPS, group_name
from streamgauge.workloads.theodolite.parameters import Parameters

_SUMS = 3
"""Numbers at the end of a line."""
_LINE = rf"^\d+,[a-z_0-9]+,\d+(?:,{NUMBER}){{{_SUMS - 1}}}$"
_CLOSE_MS = 250
"""Windows that close so shortly before the end of the log need not have been seen to close."""


@dataclass(frozen=True)
class GroupSums:
    """`START,GROUP,count,sum,mean` of the members that have a value in the window.

    The value of a sensor is its last one in the window. With feedback the members of a group come
    in a window after theirs, which ends a window later at each level; nothing closes the last ones.
    """

    feedback: bool
    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the last value of each sensor in each window."""
        parameters = Parameters.model_validate(context.parameters)
        window_ms = parameters.window_ms("uc4")
        found = readings(records)
        sensor = _sensors(found["identifier"])
        rows = np.flatnonzero((sensor >= 0) & (sensor < parameters.group_sensors))
        found, sensor = found.take(rows), sensor[rows]
        timestamp = found["timestamp"].to_numpy()
        start = timestamp - timestamp % window_ms
        log = [found[name].to_numpy() for name in ("offset", "partition")]
        last = _lasts(np.lexsort((*log, timestamp, sensor, start)), start, sensor)
        found, start = found.take(last), start[last]
        place = [found[name].to_numpy() for name in ("partition", "offset", "steps")]
        columns = {
            "key": pc.cast(pa.array(start), pa.string()),
            "value": packed([start, sensor[last], *place]),
            "intended": found["timestamp"],
            "appended": found["appended"],
            "window_end": start + window_ms,
            "optional": np.zeros(len(last), dtype=np.bool_),
        }
        return pa.table(columns, schema=EXPECTED)

    def groups(self, keys: pa.ChunkedArray) -> pa.Array:
        """Return the window of each key: its groups are summed up together."""
        return pc.replace_substring_regex(keys, pattern=",.*$", replacement="")

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Sum up each group in each window."""
        parameters = Parameters.model_validate(context.parameters)
        start, sensor, partition, offset, steps = unpacked(partials["value"], 5)
        intended, appended = (partials[name].to_numpy() for name in ("intended", "appended"))
        order = np.lexsort((offset, partition, intended, sensor, start))
        last = _lasts(order, start, sensor)
        columns = (start, sensor, steps, intended, appended)
        values = _Values(*(column[last] for column in columns))
        found = [
            self._level(values, level, parameters, context.horizon_ms)
            for level in range(parameters.levels)
        ]
        return pa.concat_tables([EXPECTED.empty_table(), *found])

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with window and group as key."""
        lines = lines_like(records["value"], _LINE)
        sums = rf"(?:,[^,]*){{{_SUMS}}}$"
        columns = {
            "key": pc.replace_substring_regex(lines, pattern=sums, replacement=""),
            "value": records["value"],
            "emitted": records["timestamp"],
        }
        return pa.table(columns, schema=OUTPUTS)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> npt.NDArray[np.bool_]:
        """Return which sums are right."""
        ours, theirs = (numbers(table["value"], _SUMS) for table in (expected, outputs))
        right = [mine == other for mine, other in zip(ours, theirs, strict=True)]
        return np.asarray(np.all(right, axis=0), dtype=np.bool_)

    def _level(
        self, values: _Values, level: int, parameters: Parameters, horizon_ms: int
    ) -> pa.Table:
        """Sum up the groups of a level; 0 is the root's."""
        width = parameters.children ** (parameters.levels - level)
        groups = _Groups(values, width, parameters.children)
        below = parameters.levels - 1 - level if self.feedback else 0
        ends = groups.start_ms + (1 + below) * parameters.window_ms("uc4")
        closed_ms = ends + parameters.delay_ms + _CLOSE_MS
        names = [group_name(level, first) for first in (groups.number * width).tolist()]
        total = groups.total / STEPS
        columns = {
            "key": texts(groups.start_ms, pa.array(names, pa.string())),
            "value": pc.cast(texts(groups.count, total, total / groups.count), pa.binary()),
            "intended": groups.intended,
            "appended": groups.appended,
            "window_end": ends,
            "optional": (closed_ms > horizon_ms) & self.feedback,
        }
        return pa.table(columns, schema=EXPECTED)


@dataclass(frozen=True)
class _Values:
    """The value of each sensor in each window, by window and sensor."""

    start: Integers
    sensor: Integers
    steps: Integers
    intended: Integers
    appended: Integers


class _Groups:
    """Groups of that many consecutive sensors in each window."""

    def __init__(self, values: _Values, width: int, children: int) -> None:
        group, member = values.sensor // width, values.sensor // (width // children)
        first = np.flatnonzero(_changes(values.start, group))
        self.start_ms, self.number = values.start[first], group[first]
        self.count = _over(np.add, _changes(values.start, member).astype(np.int64), first)
        self.total = _over(np.add, values.steps, first)
        self.intended = _over(np.maximum, values.intended, first)
        self.appended = _over(np.maximum, values.appended, first)


def _over(function: np.ufunc, values: Integers, starts: Integers) -> Integers:
    found: Integers = function.reduceat(values, starts) if len(starts) else values
    return found


def _changes(*columns: Integers) -> npt.NDArray[np.bool_]:
    """Return which rows differ from the row before; the first always does."""
    found: npt.NDArray[np.bool_] = np.any(
        [np.diff(column, prepend=-1) != 0 for column in columns], axis=0
    )
    return found


def _lasts(order: Integers, *columns: Integers) -> Integers:
    """Keep the last row of each combination of columns, with the rows in this order."""
    ends = np.any([np.diff(column[order], append=-1) != 0 for column in columns], axis=0)
    return order[ends]


def _sensors(identifiers: pa.ChunkedArray) -> Integers:
    """Return the number of each sensor, -1 for a marker."""
    found = pc.extract_regex(identifiers.combine_chunks(), pattern=r"^s_(?P<number>\d{1,9})$")
    number = pc.if_else(pc.is_valid(found), pc.struct_field(found, "number"), "-1")
    return np.asarray(pc.cast(number, pa.int64()).to_numpy(), dtype=np.int64)
