"""Answers of the sums: the lanes of each point and second together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from streamgauge.measure.messages import Integers
from streamgauge.workloads.ospbench.answers.lines import Line, expected
from streamgauge.workloads.ospbench.answers.pairs import AnswersOfPairs, Pairs
from streamgauge.workloads.ospbench.answers.records import Booleans, Floats
from streamgauge.workloads.ospbench.parameters import Parameters

SECOND_MS = 1000


@dataclass(frozen=True)
class Sums:
    """Columns of sums, ordered by point and second; times are epoch milliseconds."""

    points: pa.Array
    """Name of each point."""
    point: Integers
    """Number of its name."""
    second: Integers
    lanes: Integers
    """How many have both sides."""
    flow: Integers
    speed: Floats
    """Mean of the lanes."""
    intended: Integers
    appended: Integers
    complete: Booleans
    """Whether all lanes of the point have both sides."""


@dataclass(frozen=True)
class Summed(AnswersOfPairs):
    """`second_ms,point,lanes,flow,speed,publish_ms`."""

    line: ClassVar[Line] = Line(
        2,
        (
            ("second", "whole"),
            ("point", "text"),
            ("lanes", "whole"),
            ("flow", "whole"),
            ("speed", "exact"),
            ("publish", "whole"),
        ),
    )
    complete: bool
    """Whether an answer needs all lanes of its point; otherwise it comes at the second's end."""

    def _answers(self, pairs: Pairs, parameters: Parameters) -> pa.Table:  # noqa: ARG002
        found = sums(pairs, complete=self.complete)
        return expected(
            [found.second, found.points.take(found.point)],
            [found.lanes, found.flow, found.speed, found.appended],
            **times(found, complete=self.complete),
        )


def sums(pairs: Pairs, *, complete: bool) -> Sums:
    """Sum up the pairs of each point and second; if wanted, only of complete ones."""
    new = (np.diff(pairs.point, prepend=-1) != 0) | (np.diff(pairs.second, prepend=-1) != 0)
    first = np.flatnonzero(new)
    lanes = np.diff(first, append=len(pairs))

    def latest(column: Integers) -> Integers:
        return np.maximum.reduceat(column, first) if len(first) else column[:0]

    def total(column: Integers | Floats) -> Integers | Floats:
        return np.add.reduceat(column, first) if len(first) else column[:0]

    found = {
        "point": pairs.point[first],
        "second": pairs.second[first],
        "lanes": lanes,
        "flow": total(pairs.flow),
        "speed": total(pairs.speed) / np.maximum(lanes, 1),
        "intended": latest(pairs.intended),
        "appended": latest(pairs.appended),
        "complete": lanes == latest(pairs.lanes),
    }
    kept = found["complete"] if complete else np.ones(len(first), dtype=np.bool_)
    return Sums(pairs.points, **{name: column[kept] for name, column in found.items()})


def times(sums: Sums, *, complete: bool) -> dict[str, pa.Array]:
    """Return the times of answers; the end of a window only for those that wait for it."""
    ends = pa.nulls(len(sums.second), pa.int64()) if complete else sums.second + SECOND_MS
    return {"intended": sums.intended, "appended": sums.appended, "window_end": ends}
