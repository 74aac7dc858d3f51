"""Detects when an engine has begun and when it has finished, by its progress or by markers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.load.protocol import Marker
from streamgauge.measure.columns import RECORDS
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.engine import Job, ReportsProgress
from streamgauge.spec.progress import TIMELY_S
from streamgauge.spec.query import Query
from streamgauge.spec.records import Record
from streamgauge.spec.transport import Channel, Tail

STILL_S = 2.0
"""The output must have been unchanged for this long."""

Finished = Mapping[tuple[str, int], int]


def still_s(query: Query, trigger_s: float | None) -> float:
    """Return how long the output must be unchanged: sentinels close windows a trigger later."""
    return STILL_S + 2 * (trigger_s or 0.0) if query.needs_sentinels else STILL_S


class Drainage:
    """Follows an engine's progress and outputs through one trial."""

    def __init__(
        self,
        query: Query,
        endpoints: Endpoints,
        channel: Channel,
        table_answered: Callable[[Sequence[Marker]], bool],
        job: Job,
        marker_key: Callable[[Marker], str] | None,
        now_s: Callable[[], float] = time.monotonic,
        still_s: float = STILL_S,
    ) -> None:
        self._query = query
        self._endpoints = endpoints
        self._channel = channel
        self._table_answered = table_answered
        self._job = job
        self._marker_key = marker_key
        """Key of the output that answers a marker; None if there is none."""
        self._now_s = now_s
        self._still_s = still_s
        self._answered: set[str | None] = set()
        self._tail: Tail | None = None
        self._lock = threading.Lock()
        self._finished: Finished = {}
        self._idle = False
        self._moved_s = now_s()
        self._still: tuple[list[int], float] | None = None

    def follow(self) -> None:
        """Look for answers to markers from the present end of the output on."""
        self.close()
        output = self._endpoints.output
        if output is not None and self._marker_key is not None:
            self._tail = self._channel.follow(output, self._channel.log_end(output))

    def close(self) -> None:
        """Stop looking at the output."""
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def finished(self) -> Finished:
        """Return the next offset of each input partition, as the engine reports it."""
        with self._lock:  # the sampler's thread asks as well
            progress = self._job.progress() if isinstance(self._job, ReportsProgress) else None
            if progress is not None:
                finished, self._idle = progress.finished, progress.idle
            else:
                finished, self._idle = self._channel.committed(), True
            if finished != self._finished:
                self._finished, self._moved_s = finished, self._now_s()
            return self._finished

    def passed(self, markers: Sequence[Marker]) -> bool:
        """Return whether every marker was answered, or passed by reported progress."""
        return self._behind(markers) == 0 or self.answers(markers)

    def drained(self, markers: Sequence[Marker]) -> bool:
        """Return whether the engine has finished and its output no longer changes."""
        at_end = self._behind(markers) == 0 and self._idle
        if not at_end and self._now_s() - self._moved_s > TIMELY_S:
            at_end = self.answers(markers)
        if not at_end:
            self._still = None
            return False
        return self._is_still()

    def outstanding(self, markers: Sequence[Marker]) -> int | None:
        """Count the records that the engine has not reported as done."""
        return self._behind(markers)

    def _behind(self, markers: Sequence[Marker]) -> int | None:
        """Count the records up to the markers that are not finished; None without any report."""
        finished = self.finished()
        if not finished:
            return None
        return sum(
            max(0, marker.offset + 1 - finished.get((marker.stream, marker.partition), 0))
            for marker in markers
        )

    def answers(self, markers: Sequence[Marker]) -> bool:
        """Return whether there is an output that answers each marker."""
        if self._marker_key is None:
            return False
        if self._endpoints.output is None:
            return self._table_answered(markers)
        assert self._tail is not None, "follow() comes before the markers are sent"
        if records := self._tail.read():  # once per call, so that a limit can pass in between
            keys = self._query.answers.outputs(_table(records))["key"]
            self._answered |= set(pc.unique(keys).to_pylist())
        return {self._marker_key(marker) for marker in markers} <= self._answered

    def _is_still(self) -> bool:
        output = self._endpoints.output
        ends = self._channel.log_end(output) if output else []
        if self._still is None or self._still[0] != ends:
            self._still = (ends, self._now_s())
        return self._now_s() - self._still[1] >= self._still_s


def _table(records: Sequence[Record]) -> pa.Table:
    columns = zip(*((r.partition, r.offset, r.timestamp_ms, r.value) for r in records), strict=True)
    return pa.table(list(map(list, columns)), schema=RECORDS)
