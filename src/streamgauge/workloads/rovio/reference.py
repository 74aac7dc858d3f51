"""The reference engine's part: windows that close when every stream's events have passed them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.jobfile import JobSpec
from streamgauge.measure.columns import RECORDS
from streamgauge.measure.messages import Integers
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.query import Query
from streamgauge.workloads.rovio.parameters import Parameters

_TIMES = r"^(?P<id>\d+);(?P<intended>\d+);(?P<delay>-?\d+);"


def printed(query: str, exact: bytes) -> bytes | None:  # noqa: ARG001 - the same for both
    """Print an answer without what it says beyond the output."""
    return exact.partition(b"|")[0]


def buffer(job: JobSpec, query: Query) -> EventTimeWindows:
    """Return what holds records back until their windows are over."""
    return EventTimeWindows(job, query)


class EventTimeWindows:
    """Keeps records until their last window is over in every partition of every stream."""

    empty = True
    """Silence closes no window: a sentinel does."""

    def __init__(self, job: JobSpec, query: Query) -> None:
        parameters = Parameters.model_validate(job.parameters)
        self._answers = query.answers
        self._streams = len(query.streams)
        self._size_ms, self._slide_ms = parameters.size_ms, parameters.slide_ms
        self._allowed_ms = parameters.allowed_delay_ms
        self._reached_ms = np.zeros((self._streams, job.partitions), dtype=np.int64)
        self._closed_ms = 0
        """Windows that ended by then were answered."""
        self._records = RECORDS.empty_table()

    def answer(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the outputs of all windows that are over now."""
        ids, event = _ids_and_events(records)
        place = ids % self._streams, records["partition"].to_numpy()
        np.maximum.at(self._reached_ms, place, event)
        self._records = pa.concat_tables([self._records, records])
        over_ms = int(self._reached_ms.min()) - self._allowed_ms
        over_ms -= over_ms % self._slide_ms
        if over_ms <= self._closed_ms:
            return self._answers.expected(records.slice(0, 0), context)
        found = self._answers.merge(self._answers.expected(self._records, context), context)
        starts = pc.extract_regex(found["value"], pattern=r"^(?P<start>\d+),")
        end = _numbers(starts, "start") + self._size_ms
        now = pa.array((end > self._closed_ms) & (end <= over_ms))
        self._closed_ms = over_ms
        self._forget()
        # Late records of a window are left out, and a sum of nothing is not an output.
        return found.filter(pc.and_(now, pc.invert(found["optional"])))

    def _forget(self) -> None:
        _, event = _ids_and_events(self._records)
        self._records = self._records.filter(pa.array(event >= self._closed_ms - self._size_ms))


def _ids_and_events(records: pa.Table) -> tuple[Integers, Integers]:
    found = pc.extract_regex(records["value"], pattern=_TIMES)
    return _numbers(found, "id"), _numbers(found, "intended") - _numbers(found, "delay")


def _numbers(found: pa.ChunkedArray, name: str) -> Integers:
    return np.asarray(pc.cast(pc.cast(pc.struct_field(found, name), pa.string()), pa.int64()))
