"""Answers of the join: each lane's flow with its speed."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from streamgauge.workloads.ospbench.answers.lines import Line, expected
from streamgauge.workloads.ospbench.answers.pairs import AnswersOfPairs, Pairs
from streamgauge.workloads.ospbench.parameters import Parameters


class Joined(AnswersOfPairs):
    """`second_ms,point,lane,flow,speed,num_lanes,publish_ms`."""

    line: ClassVar[Line] = Line(
        3,
        (
            ("second", "whole"),
            ("point", "text"),
            ("lane", "text"),
            ("flow", "whole"),
            ("speed", "exact"),
            ("lanes", "whole"),
            ("publish", "whole"),
        ),
    )

    def _answers(self, pairs: Pairs, parameters: Parameters) -> pa.Table:  # noqa: ARG002
        return expected(
            [pairs.second, pairs.points.take(pairs.point), pairs.lane],
            [pairs.flow, pairs.speed, pairs.lanes, pairs.appended],
            intended=pairs.intended,
            appended=pairs.appended,
        )
