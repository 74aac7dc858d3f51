"""The reference engine's part: answers that are held back until nothing can change them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.engines.reference.windows import Buffer, Immediate
from streamgauge.jobfile import JobSpec
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.query import Query
from streamgauge.workloads.ospbench.answers.records import integers, milliseconds
from streamgauge.workloads.ospbench.parameters import Parameters

_BEHIND_MS = 5_000
"""Flow and speed of a lane never come this far apart."""
_TIMES = r'^\{"id":(?P<id>\d+),.*"timestamp":"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"'


def printed(query: str, exact: bytes) -> bytes | None:  # noqa: ARG001 - the same for all
    """Print an answer as it is."""
    return exact


def buffer(job: JobSpec, query: Query) -> Buffer:
    """Return what holds records back as long as the query needs them."""
    return Held(job, query) if query.answers.merges else Immediate(query)


class Held:
    """Keeps partial answers: those of windows until they are over, others until complete."""

    empty = True
    """Silence closes no window: a sentinel does."""

    def __init__(self, job: JobSpec, query: Query) -> None:
        parameters = Parameters.model_validate(job.parameters)
        self._answers, self._windowed = query.answers, query.window_ms is not None
        self._streams = len(query.streams)
        self._kept_ms = _BEHIND_MS + max(parameters.size_ms, parameters.long * 1000)
        self._reached_ms = np.zeros((self._streams, job.partitions), dtype=np.int64)
        self._partials: pa.Table | None = None
        self._answered: set[str] = set()

    def answer(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the outputs that are final now."""
        new = self._answers.expected(records, context)
        self._partials = new if self._partials is None else pa.concat_tables([self._partials, new])
        before_ms = int(self._reached_ms.min())
        self._note_reached(records)
        reached_ms = int(self._reached_ms.min())
        if self._windowed and reached_ms == before_ms:
            return self._answers.merge(new.slice(0, 0), context)
        found = self._answers.merge(self._partials, context)
        if self._windowed:
            found = found.filter(pc.less_equal(found["window_end"], reached_ms))
        is_new = [key not in self._answered for key in found["key"].to_pylist()]
        found = found.filter(pa.array(is_new, pa.bool_()))
        self._answered.update(found["key"].to_pylist())
        if reached_ms > before_ms:
            self._forget(reached_ms - self._kept_ms)
        return found

    def _note_reached(self, records: pa.Table) -> None:
        found = pc.extract_regex(records["value"].combine_chunks(), pattern=_TIMES)
        known = pc.is_valid(found)
        ids, seconds = (
            pc.cast(pc.struct_field(found.filter(known), name), pa.string())
            for name in ("id", "time")
        )
        place = integers(ids) % self._streams, records["partition"].filter(known).to_numpy()
        np.maximum.at(self._reached_ms, place, milliseconds(seconds).to_numpy())

    def _forget(self, until_ms: int) -> None:
        assert self._partials is not None
        self._partials = self._partials.filter(pc.greater_equal(_times(self._partials), until_ms))
        # The first windows of what is left began before it.
        begun_ms = until_ms - self._kept_ms
        self._answered = {key for key in self._answered if _time(key) >= begun_ms}


def _times(partials: pa.Table) -> pa.Array:
    return pa.array([_time(key) for key in partials["key"].to_pylist()], pa.int64())


def _time(key: str) -> int:
    return int(key.partition(",")[0])
