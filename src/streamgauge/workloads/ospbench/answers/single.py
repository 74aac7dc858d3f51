"""Answers that look at one record at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.messages import headers
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.form import JSON
from streamgauge.workloads.ospbench.answers.lines import Line, expected
from streamgauge.workloads.ospbench.answers.records import Booleans, measured


@dataclass(frozen=True)
class _Single:
    """Answers that each belong to one record."""

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = False
    line: ClassVar[Line]

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return them as they are."""
        return partials

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with the id as key."""
        return self.line.outputs(records)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return which outputs say the same about their record."""
        return self.line.agree(expected, outputs)


class Copies(_Single):
    """Every record, parsable or not, passed on: `id,publish_ms`."""

    line: ClassVar[Line] = Line(1, (("id", "whole"), ("publish", "whole")))

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return a line for every record."""
        found, appended = headers(records["value"].combine_chunks(), JSON), records["timestamp"]
        appended = appended.combine_chunks()
        return expected([found.keys], [appended], intended=found.intended, appended=appended)


class Parsed(_Single):
    """Every record that can be parsed, with typed fields.

    `id,publish_ms,point,lane,second_ms,latitude,longitude,flow or speed,period,accuracy,num_lanes`;
    a speed has no period.
    """

    line: ClassVar[Line] = Line(
        1,
        (
            ("id", "whole"),
            ("publish", "whole"),
            ("point", "text"),
            ("lane", "text"),
            ("second", "whole"),
            ("latitude", "exact"),
            ("longitude", "exact"),
            ("measured", "exact"),
            ("period", "any"),
            ("accuracy", "whole"),
            ("lanes", "whole"),
        ),
    )

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return a line for every record that can be parsed."""
        found = measured(records)
        value = pc.if_else(pc.equal(found.speed, ""), found.flow, found.speed)
        named = (found.point, found.lane, found.second, found.latitude, found.longitude)
        rest = (value, found.period, found.accuracy, found.lanes)
        times = {"intended": found.intended, "appended": found.appended}
        return expected([found.id], [found.appended, *named, *rest], **times)
