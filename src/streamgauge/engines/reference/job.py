"""The process of the engine `reference`: `python -m streamgauge.engines.reference.job JOB.json`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import cast

import pyarrow as pa

from streamgauge import registry
from streamgauge.engines import job as jobs
from streamgauge.engines.consuming import Reporter, stop_on_sigterm
from streamgauge.engines.reference.faults import Fault, Output
from streamgauge.engines.reference.parts import BringsBuffer, Parts
from streamgauge.engines.reference.sinks import OutputSink, Sink, TableSink
from streamgauge.engines.reference.windows import buffer_for
from streamgauge.jobfile import JobSpec, ProgressWriter
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.query import Query
from streamgauge.spec.transport import Reader

_REFRESH_S = 1.0
"""How old the business tables that an answer is computed from may be."""
_FOREVER_MS = 2**62


class Answerer:
    """Turns incoming records into the outputs that are final."""

    def __init__(
        self,
        job: JobSpec,
        endpoints: Endpoints,
        query: Query,
        parts: Parts,
        *,
        shift: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parameters, self._seed = job.parameters, job.seed
        self._services = endpoints.services
        self._query = query
        self._parts = parts
        self._clock = clock
        if isinstance(parts, BringsBuffer):
            self._buffer = parts.buffer(job, query)
        else:
            self._buffer = buffer_for(query, endpoints.partitions, shift=shift, clock=clock)
        self._tables: Mapping[str, pa.Table] = {}
        self._read_s = float("-inf")

    @property
    def waiting(self) -> bool:
        """Return whether further outputs will come without further input."""
        return not self._buffer.empty

    def answer(self, records: pa.Table) -> list[Output]:
        """Take in records; return the outputs that are final now."""
        rows = self._buffer.answer(records, self._context())
        pairs = zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True)
        found = ((key, self._parts.printed(self._query.name, exact), exact) for key, exact in pairs)
        return [Output(key, value, exact) for key, value, exact in found if value is not None]

    def _context(self) -> AnswerContext:
        reads_tables = self._query.tables and self._query.output == "topic"
        if reads_tables and self._clock() - self._read_s >= _REFRESH_S:
            self._tables = self._parts.tables(self._query.name, self._services)
            self._read_s = self._clock()
        return AnswerContext(self._parameters, _FOREVER_MS, self._tables, self._seed)


def main(argv: list[str]) -> None:
    """Answer until SIGTERM."""
    stopped = stop_on_sigterm()
    job, endpoints = jobs.read(Path(argv[1]))
    query = registry.load("workloads", job.workload).queries[job.query]
    parts = cast("Parts", registry.implementation(job.workload, "reference"))
    fault = Fault.of(job, query)
    shift = 1 if fault and fault.name == "shift" else 0
    with ExitStack() as stack:
        reporter = Reporter(stack.enter_context(ProgressWriter(job.progress)))
        transport = registry.transport(endpoints.transport)
        inputs = stack.enter_context(transport.reader(endpoints))
        sink = stack.enter_context(_sink(endpoints, query, parts, fault))
        _work(inputs, Answerer(job, endpoints, query, parts, shift=shift), sink, reporter, stopped)


def _work(
    inputs: Reader, answerer: Answerer, sink: Sink, reporter: Reporter, stopped: Event
) -> None:
    while not stopped.is_set():
        messages = inputs.read(0.05)
        if len(messages) or answerer.waiting:
            records = messages.table()
            sink.send(answerer.answer(records), records)
        if sink.hangs:
            stopped.wait()
            return
        idle = not len(messages) and not answerer.waiting
        if reporter.due(idle):
            sink.flush()
            reporter.report(inputs.positions(), idle)


def _sink(endpoints: Endpoints, query: Query, parts: Parts, fault: Fault | None) -> Sink:
    if query.output == "table":
        return TableSink(parts.writer(query.name, endpoints.services), fault)
    outlet = registry.transport(endpoints.transport).outlet(endpoints)
    return OutputSink(outlet, fault, [query.form(stream) for stream in query.streams])


if __name__ == "__main__":
    main(sys.argv)
