"""Answers of the changes: the sums of a point compared with those of two seconds before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from streamgauge.measure.messages import Integers
from streamgauge.workloads.ospbench.answers.lines import Line, expected
from streamgauge.workloads.ospbench.answers.pairs import AnswersOfPairs, Pairs
from streamgauge.workloads.ospbench.answers.records import Floats
from streamgauge.workloads.ospbench.answers.summed import SECOND_MS, Sums, sums, times
from streamgauge.workloads.ospbench.parameters import Parameters


@dataclass(frozen=True)
class Changes(AnswersOfPairs):
    """`second_ms,point,flow,speed,flow_short,flow_long,speed_short,speed_long,publish_ms`.

    The changes are relative to the sums of `short` and `long` seconds before; without either
    there is no answer.
    """

    line: ClassVar[Line] = Line(
        2,
        (
            ("second", "whole"),
            ("point", "text"),
            ("flow", "whole"),
            ("speed", "exact"),
            ("flow_short", "about"),
            ("flow_long", "about"),
            ("speed_short", "about"),
            ("speed_long", "about"),
            ("publish", "whole"),
        ),
    )
    complete: bool
    """Whether all three seconds need all lanes of the point."""

    def _answers(self, pairs: Pairs, parameters: Parameters) -> pa.Table:
        all_sums = sums(pairs, complete=self.complete)
        back = [_before(all_sums, seconds) for seconds in (parameters.short, parameters.long)]
        known = np.flatnonzero((back[0] >= 0) & (back[1] >= 0))
        now = _taken(all_sums, known)
        short, long = (_taken(all_sums, rows[known]) for rows in back)
        latest = replace(
            now,
            intended=np.maximum.reduce([each.intended for each in (now, short, long)]),
            appended=np.maximum.reduce([each.appended for each in (now, short, long)]),
        )
        changes = [
            _change(getattr(now, name), getattr(before, name))
            for name in ("flow", "speed")
            for before in (short, long)
        ]
        return expected(
            [now.second, now.points.take(now.point)],
            [now.flow, now.speed, *changes, latest.appended],
            **times(latest, complete=self.complete),
        )


def _before(sums: Sums, seconds: int) -> Integers:
    """Return the row of each point's sum that many seconds before, -1 where there is none."""
    since = sums.second - sums.second.min(initial=2**62) + seconds * SECOND_MS
    span = int(since.max(initial=0)) + 1
    place: Integers = sums.point * span + since
    wanted: Integers = place - seconds * SECOND_MS
    if not len(place):
        return wanted
    row = np.minimum(np.searchsorted(place, wanted), len(place) - 1)
    return np.asarray(np.where(place[row] == wanted, row, -1), dtype=np.int64)


def _taken(sums: Sums, rows: Integers) -> Sums:
    names = ("point", "second", "lanes", "flow", "speed", "intended", "appended", "complete")
    return replace(sums, **{name: getattr(sums, name)[rows] for name in names})


def _change(now: Integers | Floats, before: Integers | Floats) -> Floats:
    return np.asarray((now - before) / before, dtype=np.float64)
