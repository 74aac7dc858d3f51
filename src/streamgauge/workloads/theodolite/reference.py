"""The reference engine's part: windows that close when every partition has passed them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.engines.reference.faults import Output
from streamgauge.engines.reference.windows import Buffer, Immediate
from streamgauge.jobfile import JobSpec
from streamgauge.measure.columns import RECORDS
from streamgauge.measure.messages import Integers
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.endpoints import Services
from streamgauge.spec.query import Query
from streamgauge.workloads.theodolite import store
from streamgauge.workloads.theodolite.answers import EachStatistics, StepwiseStatistics, Stored
from streamgauge.workloads.theodolite.parameters import Parameters
from streamgauge.workloads.theodolite.queries import case

_TIME = r'^\{"id":\d+,.*"timestamp":(?P<time>\d+),'


def tables(query: str, services: Services) -> Mapping[str, pa.Table]:  # noqa: ARG001
    """Read nothing: answers need only records."""
    return {}


def printed(query: str, exact: bytes) -> bytes | None:  # noqa: ARG001 - the same for all
    """Print an answer as it is: the buffer has put its key in front."""
    return exact


def writer(query: str, services: Services) -> RowWriter:  # noqa: ARG001 - only one writes
    """Return what stores records."""
    return RowWriter(PostgresEndpoint.of(services["postgres"]))


def buffer(job: JobSpec, query: Query) -> Buffer:
    """Return what holds records back until their answers are known."""
    if isinstance(query.answers, Stored):
        return Immediate(query)
    return Windows(job, query)


class Windows:
    """Keeps records while a window that they lie in may still change."""

    empty = True
    """Silence closes no window: a sentinel does."""

    def __init__(self, job: JobSpec, query: Query) -> None:
        self._answers = query.answers
        parameters = Parameters.model_validate(job.parameters)
        fed_back = parameters.levels - 1 if query.internal else 0
        self._kept_ms = (1 + fed_back) * parameters.window_ms(case(query.name))
        """How long a record may be needed."""
        self._reached_ms = [0] * job.partitions
        self._closed_ms = 0
        """Windows that ended by then were answered."""
        self._records = RECORDS.empty_table()
        self._told: set[str] = set()
        """Keys, with counts, of what was emitted for windows that are open."""

    def answer(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return what is new: windows that are over, or that have more records than before."""
        self._note_reached(records)
        self._records = pa.concat_tables([self._records, records])
        if isinstance(self._answers, StepwiseStatistics | EachStatistics):
            return self._grown(len(records) > 0, context)
        over_ms = min(self._reached_ms)
        if over_ms - over_ms % 100 <= self._closed_ms:
            return self._summarized(self._records.slice(0, 0), context)
        found = self._summarized(self._records, context)
        ends = found["window_end"].to_numpy()
        now = (ends > self._closed_ms) & (ends <= over_ms)
        self._closed_ms = over_ms
        times = _times(self._records["value"])
        self._records = self._records.filter(pa.array(times >= over_ms - self._kept_ms))
        return found.filter(pa.array(now))

    def _grown(self, more: bool, context: AnswerContext) -> pa.Table:
        found = self._summarized(self._records.slice(0, None if more else 0), context)
        lines = pc.cast(found["value"], pa.string()).to_pylist()
        new = [line not in self._told for line in lines]
        self._told.update(lines)
        return found.filter(pa.array(new, pa.bool_()))

    def _summarized(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Summarize records; each answer with what precedes it."""
        found = self._answers.merge(self._answers.expected(records, context), context)
        keys = found["key"].combine_chunks()
        if isinstance(self._answers, EachStatistics):
            keys = pc.replace_substring_regex(keys, pattern=r",\d+$", replacement="")
        values = pc.cast(found["value"].combine_chunks(), pa.string())
        lines = pc.cast(pc.binary_join_element_wise(keys, values, ","), pa.binary())
        return found.set_column(found.schema.get_field_index("value"), "value", lines)

    def _note_reached(self, records: pa.Table) -> None:
        times, partitions = _times(records["value"]), records["partition"].to_numpy()
        for partition in np.unique(partitions).tolist():
            newest = int(times[partitions == partition].max())
            self._reached_ms[partition] = max(self._reached_ms[partition], newest)


class RowWriter:
    """Stores records as they should be, or not."""

    def __init__(self, endpoint: PostgresEndpoint) -> None:
        self._writer = store.Writer(endpoint)
        self._unset: set[str] = set()

    def write(self, outputs: Sequence[Output]) -> None:
        """Write these rows, except those that are to be left out."""
        rows = [each for each in outputs if each.key not in self._unset]
        self._writer.write(_table(rows))

    def spoil(self, fault: str, output: Output) -> None:
        """Leave a row out, or write another one."""
        found = json.loads(output.value)
        if fault == "unset":
            self._unset.add(output.key)
        elif fault == "early":
            value = json.dumps({**found, "timestamp": found["timestamp"] - 1})
            self._writer.write(_table([replace(output, value=value.encode())]))
        else:
            value = json.dumps({**found, "id": found["id"] + 10**12})
            self._writer.write(_table([replace(output, value=value.encode())]))

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


def _table(outputs: Sequence[Output]) -> pa.Table:
    texts = [each.value.decode() for each in outputs]
    found = [json.loads(text) for text in texts]
    columns = [
        [each[name] for each in found] for name in ("id", "identifier", "timestamp", "valueInW")
    ]
    return pa.table([*columns, texts], schema=store.RECORDS)


def _times(values: pa.ChunkedArray) -> Integers:
    """Return the timestamp of each record, 0 where it has none."""
    found = pc.extract_regex(values, pattern=_TIME)
    times = pc.if_else(pc.is_valid(found), pc.struct_field(found, "time"), b"0")
    return np.asarray(pc.cast(pc.cast(times, pa.string()), pa.int64()), dtype=np.int64)
