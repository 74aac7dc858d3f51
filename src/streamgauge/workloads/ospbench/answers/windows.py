"""Answers of the windows: what a point's flow adds up to in each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.ospbench.answers.lines import Line, expected, joined
from streamgauge.workloads.ospbench.answers.pairs import point_of
from streamgauge.workloads.ospbench.answers.records import Booleans, integers, measured
from streamgauge.workloads.ospbench.parameters import Parameters

_SLICE = r"^(?P<slice>\d+),(?P<point>[^,]+)$"


@dataclass(frozen=True)
class Windows:
    """`window_start_ms,point,records,flow,publish_ms`.

    All records of a slice are in the same windows. A partial answer is the sum of a point's records
    in a slice: its key is `slice_ms,point`, its value `records,flow`.
    """

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True
    line: ClassVar[Line] = Line(
        2,
        (
            ("start", "whole"),
            ("point", "text"),
            ("records", "whole"),
            ("flow", "whole"),
            ("publish", "whole"),
        ),
    )

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the sums of the records of each slice."""
        found, slice_ms = measured(records), _slice_ms(context)
        second = found.second.to_numpy(zero_copy_only=False)
        table = pa.table(
            {
                "slice": second - second % slice_ms,
                "point": found.point,
                "flow": integers(found.flow),
                "intended": found.intended,
                "appended": found.appended,
            }
        )
        summed = table.group_by(["slice", "point"]).aggregate(
            [("flow", "count"), ("flow", "sum"), ("intended", "max"), ("appended", "max")]
        )
        return pa.table(
            {
                "key": joined(*(summed[name].combine_chunks() for name in ("slice", "point"))),
                "value": pc.cast(
                    joined(*(summed[n].combine_chunks() for n in ("flow_count", "flow_sum"))),
                    pa.binary(),
                ),
                "intended": summed["intended_max"],
                "appended": summed["appended_max"],
                "window_end": pa.nulls(len(summed), pa.int64()),
                "optional": np.zeros(len(summed), dtype=np.bool_),
            },
            schema=EXPECTED,
        )

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Return a row for each point and window that has records."""
        parameters = Parameters.model_validate(context.parameters)
        size_ms, slide_ms, slice_ms = parameters.size_ms, parameters.slide_ms, _slice_ms(context)
        slices = _summed(_read(partials), "slice")
        begin = slices["slice"].to_numpy()
        found = []
        for back in range(0, size_ms, slice_ms):
            start = begin - back
            rows = np.flatnonzero(start % slide_ms == 0)
            found.append(slices.take(rows).append_column("start", pa.array(start[rows])))
        windows = _summed(pa.concat_tables(found), "start")
        start = windows["start"].combine_chunks()
        return expected(
            [start, windows["point"].combine_chunks()],
            [windows[name].combine_chunks() for name in ("records", "flow", "appended")],
            intended=windows["intended"],
            appended=windows["appended"],
            window_end=pc.add(start, size_ms),
        )

    def groups(self, keys: pa.ChunkedArray) -> pa.Array:
        """Return the point of each key."""
        return point_of(keys)

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with window and point as key."""
        return self.line.outputs(records)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return which outputs say the same."""
        return self.line.agree(expected, outputs)


def _slice_ms(context: AnswerContext) -> int:
    parameters = Parameters.model_validate(context.parameters)
    return math.gcd(parameters.size_ms, parameters.slide_ms)


def _read(partials: pa.Table) -> pa.Table:
    """Return partial answers as columns."""
    key = pc.extract_regex(partials["key"].combine_chunks(), pattern=_SLICE)
    start, point = (pc.cast(pc.struct_field(key, n), pa.string()) for n in ("slice", "point"))
    parts = pc.split_pattern(pc.cast(partials["value"].combine_chunks(), pa.string()), ",")
    records, flow = (integers(pc.list_element(parts, at)) for at in range(2))
    columns = {"slice": integers(start), "point": point, "records": records, "flow": flow}
    return pa.table(columns | {name: partials[name] for name in ("intended", "appended")})


def _summed(rows: pa.Table, by: str) -> pa.Table:
    """Add up the rows of each point and time."""
    sums, latest = ("records", "flow"), ("intended", "appended")
    summed = rows.group_by([by, "point"]).aggregate(
        [*((name, "sum") for name in sums), *((name, "max") for name in latest)]
    )
    return summed.rename_columns([by, "point", *sums, *latest])
