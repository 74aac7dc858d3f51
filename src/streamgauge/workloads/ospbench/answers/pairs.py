"""Flow and speed of the same lane and second, brought together: what stages 2 to 6 begin with.

All records of a point meet in one place. A partial answer is a record: its key is
`second_ms,point,lane`, its value `flow/lanes` or `/speed/lanes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import EXPECTED
from streamgauge.measure.messages import Integers
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.ospbench.answers.lines import Line, joined
from streamgauge.workloads.ospbench.answers.records import (
    Booleans,
    Floats,
    floats,
    integers,
    measured,
)
from streamgauge.workloads.ospbench.parameters import Parameters

_GROUP = r"^\d+,(?P<point>[^,]+)"
_KEY = r"^(?P<second>\d+),(?P<point>[^,]+),(?P<lane>[^,]+)$"


@dataclass(frozen=True)
class Pairs:
    """Columns of pairs, ordered by point and second; times are epoch milliseconds."""

    points: pa.Array
    """Name of each point."""
    point: Integers
    """Number of its name."""
    second: Integers
    lane: pa.Array
    flow: Integers
    speed: Floats
    lanes: Integers
    """Of the point."""
    intended: Integers
    """Of the later one."""
    appended: Integers

    def __len__(self) -> int:
        return len(self.point)


@dataclass(frozen=True)
class AnswersOfPairs(ABC):
    """Answers that need both sides of a lane."""

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True
    line: ClassVar[Line]

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return the records as partial answers."""
        found = measured(records)
        value = pc.binary_join_element_wise(found.flow, found.speed, found.lanes, "/")
        columns = {
            "key": joined(found.second, found.point, found.lane),
            "value": pc.cast(value, pa.binary()),
            "intended": found.intended,
            "appended": found.appended,
            "window_end": pa.nulls(len(found), pa.int64()),
            "optional": np.zeros(len(found), dtype=np.bool_),
        }
        return pa.table(columns, schema=EXPECTED)

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the answers of these points."""
        return self._answers(pairs(partials), Parameters.model_validate(context.parameters))

    def groups(self, keys: pa.ChunkedArray) -> pa.Array:
        """Return the point of each key."""
        return point_of(keys)

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with second and point as key, of a join also the lane."""
        return self.line.outputs(records)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return which outputs say the same."""
        return self.line.agree(expected, outputs)

    @abstractmethod
    def _answers(self, pairs: Pairs, parameters: Parameters) -> pa.Table:
        """Return the answers that follow from these pairs."""


def point_of(keys: pa.ChunkedArray) -> pa.Array:
    """Return the point of each key: its second field."""
    found = pc.extract_regex(pa.chunked_array(keys).combine_chunks(), pattern=_GROUP)
    return pc.cast(pc.struct_field(found, "point"), pa.string())


def pairs(partials: pa.Table) -> Pairs:
    """Bring flow and speed of each lane and second together.

    Raises:
        TrialInvalid: A lane has two records of a second in the same stream.
    """
    key = pc.extract_regex(partials["key"].combine_chunks(), pattern=_KEY)
    point, lane = (
        pc.dictionary_encode(pc.cast(pc.struct_field(key, name), pa.string()))
        for name in ("point", "lane")
    )
    second = integers(pc.cast(pc.struct_field(key, "second"), pa.string()))
    place = _place(point.indices, second, lane.indices)
    parts = pc.split_pattern(pc.cast(partials["value"].combine_chunks(), pa.string()), "/")
    flow, speed, lanes = (pc.list_element(parts, at) for at in range(3))
    is_speed = pc.equal(flow, "").to_numpy(zero_copy_only=False)
    flows, speeds = np.flatnonzero(~is_speed), np.flatnonzero(is_speed)
    for rows in (flows, speeds):
        _refuse_repeated(place[rows], partials["key"], rows)
    _, mine, theirs = np.intersect1d(
        place[flows], place[speeds], assume_unique=True, return_indices=True
    )
    a, b = flows[mine], speeds[theirs]
    intended, appended = (partials[name].to_numpy() for name in ("intended", "appended"))
    return Pairs(
        points=point.dictionary,
        point=_codes(point)[a],
        second=second[a],
        lane=lane.dictionary.take(lane.indices.take(a)),
        flow=integers(flow.take(a)),
        speed=floats(speed.take(b)),
        lanes=integers(lanes.take(a)),
        intended=np.maximum(intended[a], intended[b]),
        appended=np.maximum(appended[a], appended[b]),
    )


def _codes(encoded: pa.DictionaryArray) -> Integers:
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _place(point: pa.Array, second: Integers, lane: pa.Array) -> Integers:
    """Return one number for point, second and lane, ordered like them."""
    numbers = [np.asarray(each.to_numpy(zero_copy_only=False)) for each in (point, lane)]
    since = (second - second.min(initial=2**62)) // 1000
    spans = int(since.max(initial=0)) + 1, int(numbers[1].max(initial=0)) + 1
    return np.asarray((numbers[0].astype(np.int64) * spans[0] + since) * spans[1] + numbers[1])


def _refuse_repeated(place: Integers, keys: pa.ChunkedArray, rows: Integers) -> None:
    unique, first = np.unique(place, return_index=True)
    if len(unique) < len(place):
        again = np.setdiff1d(np.arange(len(place)), first)[0]
        raise TrialInvalid(
            f"the input has two records of {keys[int(rows[again])].as_py()} (second, point, lane)"
            " in one stream: the sender's producer repeated one",
            "Send with -L idempotence=true, which needs acks=all.",
        )
