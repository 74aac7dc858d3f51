"""The engine `reference`: right answers through the real transport; on demand one wrong.

It computes with the workload's own answers, so it says nothing about stream processing. It lets
the harness be tested without an engine's JVM, and shows that each kind of fault is found.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import ClassVar, Protocol, cast, runtime_checkable

import pyarrow as pa

from streamgauge import registry
from streamgauge.engines import job as jobs
from streamgauge.engines.consuming import Reporter, stop_on_sigterm
from streamgauge.engines.faults import Fault, Output
from streamgauge.engines.options import check_options
from streamgauge.engines.sinks import OutputSink, Sink, TableSink, TableWriter
from streamgauge.engines.windows import Buffer, buffer_for
from streamgauge.jobfile import ProgressWriter
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.endpoints import Endpoints, Services
from streamgauge.spec.engine import JobSpec, Problem, Resources
from streamgauge.spec.transport import Reader
from streamgauge.spec.workload import Query

_REFRESH_S = 1.0
"""How old the business tables may be that an answer is computed from."""
_FOREVER_MS = 2**62


class Parts(Protocol):
    """What a workload's `reference.py` contributes; of tables only where it has some."""

    def tables(self, query: str, services: Services) -> Mapping[str, pa.Table]:
        """Read the business tables that the query's answers need."""

    def printed(self, query: str, exact: bytes) -> bytes | None:
        """Return an expected value as an engine prints it; None where it would not."""

    def writer(self, query: str, services: Services) -> TableWriter:
        """Return what writes the answers of a query whose output is a table."""


@runtime_checkable
class BringsBuffer(Protocol):
    """Ability of a workload's part: it knows itself when its answers are final."""

    def buffer(self, job: JobSpec, query: Query) -> Buffer:
        """Return what holds records back until their answer is known."""


class ReferenceEngine:
    """Sends right answers, and a wrong one with `-E fault=NAME[:OUTPUT]`."""

    name: ClassVar[str] = "reference"
    answers: ClassVar[bool] = True
    jars: ClassVar[tuple[str, ...]] = ()

    def check(self) -> list[Problem]:
        """Tell what is missing on this machine: nothing ever is."""
        return []

    def versions(self) -> Mapping[str, str]:
        """Return nothing: it is a part of this package."""
        return {}

    def resolve(self, job: JobSpec) -> JobSpec:
        """Check the options.

        Raises:
            UsageError: There is no such option or fault, or the workload has no answers for us.
        """
        check_options(self.name, job, ("fault",))
        registry.implementation(job.workload, self.name)
        _fault(job, _query(job))
        return replace(job, mode="plain", settings=dict(job.options))

    def start(
        self, job: JobSpec, endpoints: Endpoints, resources: Resources, folder: Path
    ) -> jobs.ProcessJob:
        """Start the process that answers."""
        argv = [sys.executable, "-m", "streamgauge.engines.reference"]
        return jobs.start_job(argv, job, endpoints, resources, folder)


class Answerer:
    """Turns the records that come in into the outputs that are final."""

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
        """Tell whether time alone will bring further outputs."""
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
    query = _query(job)
    parts = cast("Parts", registry.implementation(job.workload, ReferenceEngine.name))
    fault = _fault(job, query)
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


def _query(job: JobSpec) -> Query:
    return registry.load("workloads", job.workload).queries[job.query]


def _fault(job: JobSpec, query: Query) -> Fault | None:
    return Fault.parse(job.options["fault"], query) if "fault" in job.options else None


if __name__ == "__main__":
    main(sys.argv)
