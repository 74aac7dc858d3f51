"""The sender's process: `python -m streamgauge.load.sender SENDER.json`.

It renders the payloads, reports `ready`, and then does what the lines on stdin ask for: `markers`,
`begin`, `sentinels`, `end`. Its answers, and a tick a second during the load, are lines of JSON on
stdout.

Record i of a stream has the number i, including the first markers. Of n senders each sends
every n-th record, and the first one the markers.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge import registry
from streamgauge.load import arrivals
from streamgauge.load.clock import Clock, HurriedClock
from streamgauge.load.configuration import Whole
from streamgauge.load.open_loop import OpenLoop, Stream, Tick
from streamgauge.load.payloads import Memory, in_memory, streamed
from streamgauge.load.protocol import (
    PULSE_MS,
    Line,
    Marker,
    Markers,
    SenderJob,
    Sent,
    TickLine,
)
from streamgauge.load.schedule import Share
from streamgauge.load.serving import say, serve
from streamgauge.services.endpoints import read_endpoints
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.payloads import Payloads
from streamgauge.spec.records import Single
from streamgauge.spec.transport import TakesRecords
from streamgauge.spec.workload import Workload

_Told = Callable[[str, int, int], Sequence[bytes | None]]
"""The payloads for a partition of a stream, by the record's number and time."""
_FLUSH_S = 35.0
"""A little longer than a record may take to be delivered or given up."""
_PULSES = 1000
"""Markers that a partition may get before the load, where they are repeated until it begins."""
_NS = 1_000_000


class Sender:
    """One trial's sender: its streams, and what sends them."""

    def __init__(self, job: SenderJob, workload: Workload, say: Callable[[Line], None]) -> None:
        self.say = say
        self._spec, self._ticks = job.spec, job.ticks
        self._clock: Clock = HurriedClock() if job.spec.backlog else time
        self._schedule = Share(arrivals.schedule(job.spec), job.number, job.of)
        self._records = arrivals.records(job.spec)
        self._workload, self._query = workload, workload.queries[job.spec.query]
        self._numbered = len(self._query.streams) + len(self._query.configuration)
        """How many streams have ids of their own."""
        endpoints = self._endpoints = read_endpoints(job.endpoints)
        transport = registry.transport(endpoints.transport)
        assert isinstance(transport, TakesRecords), f"{transport.name} has no `outgoing`"
        asks = job.spec.engine is None
        self._outgoing = transport.outgoing(endpoints, job.spec.load, asks=asks)
        self._streams: dict[str, Stream] = {}
        count = arrivals.payloads(job.spec)
        self._payloads = {
            name: workload.payloads(job.spec, name, count) for name in self._query.streams
        }
        self._pulses = job.pulse and job.number == 0
        self._marker_size = max(map(_marker_size, self._payloads.values()))
        """Records of a marker in each partition."""
        self._before = job.spec.partitions * self._marker_size * (_PULSES if job.pulse else 1)
        """Numbers kept for markers before the load; later ones follow it."""
        self._next_marker = 0
        self._render(job, endpoints)

    def _render(self, job: SenderJob, endpoints: Endpoints) -> None:
        partitions = job.spec.partitions
        for number, name in enumerate(self._query.streams):
            payloads, form = self._payloads[name], self._query.form(name)
            sources = (
                in_memory(payloads, form, partitions)
                if job.payloads is None
                else streamed(payloads, job.payloads / name)
            )
            # For markers and sentinels; what was rendered must not be held twice.
            self._payloads[name] = replace(payloads, blocks=(), keys=None)
            self._streams[name] = Stream(
                endpoints.inputs[name],
                partitions,
                sources.payloads,
                number,
                self._numbered,
                next=self._before + job.number,
                step=job.of,
                form=form,
                keys=sources.keys,
                chosen=sources.partitions,
                shifts=None if payloads.shifts is None else Memory(payloads.shifts),
                dated=payloads.dated,
            )

    def configuration(self) -> Markers:
        """Send the streams that go before the load, as a whole; return the last record of each."""
        sent: list[Marker] = []
        for number, name in enumerate(self._query.configuration, start=len(self._query.streams)):
            whole = Whole(
                self._endpoints.configuration[name],
                self._workload.payloads(self._spec, name, self._records),
                self._query.form(name),
                self._spec.partitions,
                number,
                self._numbered,
            )
            sent += whole.send(name, self._outgoing)
        return Markers(markers=sent)

    def markers(self) -> Markers:
        """Send one marker to every input partition and wait for their offsets."""
        return self._send_to_all(self._told, self._marker_size)

    def sentinels(self) -> Markers:
        """Send one sentinel to every input partition and wait for their offsets."""
        return self._send_to_all(lambda name, _number, _now_ms: [self._payloads[name].sentinel], 1)

    def _send_to_all(self, payloads_for: _Told, size: int) -> Markers:
        """Send `size` records to every partition; return the last one of each."""
        partitions, now_ms = self._spec.partitions, self._clock.time_ns() // _NS
        made = [
            self._marker(name, first + place * partitions, payload, now_ms)
            for name in self._payloads
            for first in range(self._next_marker, self._next_marker + partitions)
            for place, payload in enumerate(payloads_for(name, first, now_ms))
        ]
        self._next_marker += partitions * size
        if self._next_marker == self._before:
            self._next_marker += self._records
        appended = self._outgoing.send([single for _, _, single in made])
        last = list(zip(made, appended, strict=True))[size - 1 :: size]
        return Markers(
            markers=[
                Marker(
                    stream=name,
                    partition=single.partition,
                    offset=at.offset,
                    appended_ms=at.at_ms,
                    id=id_,
                    value=single.value,
                )
                for (name, id_, single), at in last
            ]
        )

    def _told(self, name: str, number: int, now_ms: int) -> Sequence[bytes | None]:
        """Return the payloads of a marker."""
        payloads = self._payloads[name]
        return [payloads.marker] if payloads.markers is None else payloads.markers(number, now_ms)

    def _marker(
        self, name: str, record: int, payload: bytes | None, now_ms: int
    ) -> tuple[str, int, Single]:
        """Make a marker for the partition of its number."""
        stream = self._streams[name]
        id_ = stream.id(record)
        if payload is None:
            (payload,) = stream.payloads(record, 1, now_ms)
        elif stream.shifts is not None and b"%d" in payload:
            payload %= now_ms
        value = stream.form.value(id_, now_ms, payload)
        key = self._payloads[name].marker_key
        return name, id_, Single(stream.topic, record % stream.partitions, value, key)

    def load(self, start_ms: int) -> Sent:
        """Send the load, write its record and sum it up."""
        loop = OpenLoop(
            self._outgoing.producer,
            list(self._streams.values()),
            self._schedule,
            self._schedule.due(arrivals.spans_of(self._spec).total - 1),
            lambda: self._outgoing.errors,
            clock_ns=self._clock.time_ns,
            sleep=self._clock.sleep,
        )
        self._pulse_until(start_ms)
        self._next_marker = max(self._next_marker, self._before + self._records)
        self._outgoing.requests_s.clear()
        cpu_s = time.process_time()
        loop.run(start_ms, self._report)
        outstanding = self._outgoing.producer.flush(_FLUSH_S)
        cpu_s = time.process_time() - cpu_s
        _write(loop.rows, self._ticks)
        return Sent(
            due=loop.due,
            sent=loop.sent,
            acknowledged=loop.sent - outstanding - self._outgoing.errors,
            errors=self._outgoing.errors,
            backpressure_s=loop.backpressure_s,
            lateness=loop.lateness.counts,
            fifo=os.sched_getscheduler(0) == os.SCHED_FIFO,
            cpu_s=cpu_s,
            requests_s=self._outgoing.requests_s,
        )

    def _pulse_until(self, start_ms: int) -> None:
        """Repeat markers, so that there is no gap before the load."""
        clock, begin_ms = self._clock, start_ms - PULSE_MS / 2
        while self._pulses and (left_ms := begin_ms - clock.time_ns() // _NS) > 0:
            self.markers()
            clock.sleep(min(PULSE_MS, left_ms) / 1000)

    def _report(self, tick: Tick) -> None:
        self.say(
            TickLine(
                at_ms=tick.at_ms,
                due=tick.due,
                sent=tick.sent,
                outstanding=tick.outstanding,
                errors=tick.errors,
            )
        )


def main(argv: list[str]) -> None:
    """Render, then serve the harness until it asks for `end` or is gone."""
    job = SenderJob.model_validate_json(Path(argv[1]).read_bytes())
    workload = registry.load("workloads", job.spec.workload)()
    serve(Sender(job, workload, say), sys.stdin)


def _marker_size(payloads: Payloads) -> int:
    return 1 if payloads.markers is None else len(payloads.markers(0, 0))


def _write(rows: Sequence[Tick], path: Path) -> None:
    # Not through pa.array: that loads pandas, a fifth of the memory of a sender that streams.
    columns = {f.name: np.array([getattr(row, f.name) for row in rows]) for f in fields(Tick)}
    arrays = [
        pa.Array.from_buffers(pa.from_numpy_dtype(c.dtype), len(c), [None, pa.py_buffer(c)])
        for c in columns.values()
    ]
    pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), path)


if __name__ == "__main__":
    main(sys.argv)
