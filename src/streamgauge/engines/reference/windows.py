"""Which records can be answered now: all, whole count windows, or complete time windows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import RECORDS
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.query import Query

SILENCE_S = 1.0
"""After this long without any record an open window counts as complete."""


class Buffer(Protocol):
    """Holds records back until their answer is known."""

    def answer(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Take in records; return the expected outputs that are final now."""

    @property
    def empty(self) -> bool:
        """Return whether nothing is held back that only silence would release."""


def buffer_for(
    query: Query,
    partitions: int,
    *,
    shift: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Buffer:
    """Choose the buffer by the properties of a query's answers."""
    if query.window_ms is not None:
        return TimeWindows(query, query.window_ms, partitions, clock)
    if query.answers.aligned > 1:
        return CountWindows(query, partitions, shift)
    return Immediate(query)


class Immediate:
    """Every record is answered at once."""

    empty = True

    def __init__(self, query: Query) -> None:
        self._answers = query.answers

    def answer(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the outputs of these records."""
        return self._answers.expected(records, context)


class CountWindows:
    """Records wait until the window of their partition is full."""

    empty = True

    def __init__(self, query: Query, partitions: int, shift: int = 0) -> None:
        self._answers = query.answers
        self._shift = shift
        self._waiting = [RECORDS.empty_table() for _ in range(partitions)]

    def answer(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the outputs of all windows that are full now."""
        size = self._answers.aligned
        found = []
        for partition, waiting in enumerate(self._waiting):
            mine = records.filter(pc.equal(records["partition"], partition))
            mine = pa.concat_tables([waiting, self._shifted(mine)])
            whole = len(mine) // size * size
            self._waiting[partition] = mine.slice(whole)
            found.append(self._answers.expected(mine.slice(0, whole), context))
        return pa.concat_tables(found)

    def _shifted(self, records: pa.Table) -> pa.Table:
        """Pretend that the log begins later: the fault `shift`."""
        if not self._shift:
            return records
        offsets = pc.subtract(records["offset"], self._shift)
        records = records.set_column(1, "offset", offsets)
        return records.filter(pc.greater_equal(offsets, 0))


class TimeWindows:
    """Partial results wait until every partition has passed the window's end, or silence."""

    def __init__(
        self, query: Query, window_ms: int, partitions: int, clock: Callable[[], float]
    ) -> None:
        self._answers = query.answers
        self._window_ms = window_ms
        self._reached_ms = [0] * partitions
        self._clock = clock
        self._last_s = clock()
        self._partials: pa.Table | None = None

    @property
    def empty(self) -> bool:
        """Return whether no window is open."""
        return self._partials is None or len(self._partials) == 0

    def answer(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the outputs of all windows that are complete now."""
        if len(records):
            self._last_s = self._clock()
            self._note_reached(records)
        new = self._answers.expected(records, context)
        partials = new if self._partials is None else pa.concat_tables([self._partials, new])
        silent = self._clock() - self._last_s >= SILENCE_S + self._window_ms / 1000
        complete = pc.less_equal(partials["window_end"], 2**62 if silent else min(self._reached_ms))
        self._partials = partials.filter(pc.invert(complete))
        return self._answers.merge(partials.filter(complete), context)

    def _note_reached(self, records: pa.Table) -> None:
        latest = records.group_by("partition").aggregate([("timestamp", "max")])
        for row in latest.to_pylist():
            partition = row["partition"]
            self._reached_ms[partition] = max(self._reached_ms[partition], row["timestamp_max"])
