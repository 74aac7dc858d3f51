"""The sender's process: `python -m streamgauge.load.sender SENDER.json`.

It renders the payloads, says `ready`, and then does what the lines on stdin ask for: `markers`,
`begin`, `sentinels`, `end`. Its answers, and a tick a second during the load, are lines of JSON on
stdout.

Record i of a stream has the number i, the first markers included, whoever sends it: of n senders
each sends every n-th record, and the first one the markers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import KafkaError, Message, Producer

from streamgauge import registry
from streamgauge.errors import TrialInvalid
from streamgauge.load import arrivals
from streamgauge.load.messages import Line, Marker, Markers, SenderJob, Sent, TickLine
from streamgauge.load.open_loop import OpenLoop, Stream, Tick
from streamgauge.load.payloads import Memory, Streamed
from streamgauge.load.schedule import Share
from streamgauge.load.serving import say, serve
from streamgauge.load.settings import producer_settings
from streamgauge.spec.addresses import parse_kafka
from streamgauge.spec.workload import Workload

_FLUSH_S = 35.0
"""A little longer than a record may take to be delivered or given up."""


class Sender:
    """One trial's sender: its streams, and the producer of the load."""

    def __init__(self, job: SenderJob, workload: Workload, say: Callable[[Line], None]) -> None:
        self.say = say
        self._spec, self._ticks = job.spec, job.ticks
        self._schedule = Share(arrivals.schedule(job.spec), job.number, job.of)
        self._records = arrivals.records(job.spec)
        client = parse_kafka(job.bootstrap).client_settings()
        settings = producer_settings(job.spec.load, client)
        self._errors = 0
        self._requests_s: list[float] = []
        # Without acknowledgements nothing but the client's own questions is answered.
        asks = job.spec.engine is None and job.spec.load.acks != "0"
        self._producer = Producer(
            {
                **settings,
                **({"statistics.interval.ms": 1000} if asks else {}),
                "delivery.report.only.error": True,
                "on_delivery": self._lost,
                "stats_cb": self._take_statistics,
            }
        )
        # Markers report each delivery, which would be too dear for the load.
        self._marker_producer = Producer({**settings, "acks": "all"})
        self._producer.list_topics(timeout=10)
        self._streams: dict[str, Stream] = {}
        self._markers: dict[str, bytes | None] = {}
        self._next_marker = 0
        self._sentinels: dict[str, bytes | None] = {}
        self._render(job, workload)

    def _render(self, job: SenderJob, workload: Workload) -> None:
        names = workload.queries[job.spec.query].streams
        count = arrivals.payloads(job.spec)
        for number, name in enumerate(names):
            payloads = workload.payloads(job.spec, name, count)
            self._markers[name] = payloads.marker
            self._sentinels[name] = payloads.sentinel
            self._streams[name] = Stream(
                job.inputs[name],
                job.spec.partitions,
                Memory(list(chain.from_iterable(payloads.blocks)))
                if job.payloads is None
                else Streamed(job.payloads / name),
                number,
                len(names),
                next=job.spec.partitions + job.number,
                step=job.of,
            )

    def markers(self) -> Markers:
        """Send one marker to every input partition and wait for their offsets."""
        return self._send_to_all(self._markers)

    def sentinels(self) -> Markers:
        """Send one sentinel to every input partition and wait for their offsets."""
        return self._send_to_all(self._sentinels)

    def _send_to_all(self, payloads: Mapping[str, bytes | None]) -> Markers:
        delivered: list[Marker] = []
        for name, payload in payloads.items():
            for partition in range(self._spec.partitions):
                self._send_marker(name, self._next_marker + partition, payload, delivered)
        # The first are numbered before the load, all others after it.
        after = self._records + self._spec.partitions
        self._next_marker = max(after, self._next_marker + self._spec.partitions)
        wanted = len(self._streams) * self._spec.partitions
        if self._marker_producer.flush(_FLUSH_S) or len(delivered) < wanted:
            raise TrialInvalid(f"the broker did not take all markers within {_FLUSH_S:g} s")
        return Markers(markers=delivered)

    def load(self, start_ms: int) -> Sent:
        """Send the load, write the record of it and sum it up."""
        loop = OpenLoop(
            self._producer,
            list(self._streams.values()),
            self._schedule,
            self._schedule.due(arrivals.spans_of(self._spec).total - 1),
            lambda: self._errors,
        )
        self._requests_s.clear()
        cpu_s = time.process_time()
        loop.run(start_ms, self._report)
        outstanding = self._producer.flush(_FLUSH_S)
        cpu_s = time.process_time() - cpu_s
        _write(loop.rows, self._ticks)
        return Sent(
            due=loop.due,
            sent=loop.sent,
            acknowledged=loop.sent - outstanding - self._errors,
            errors=self._errors,
            backpressure_s=loop.backpressure_s,
            lateness=loop.lateness.counts,
            fifo=os.sched_getscheduler(0) == os.SCHED_FIFO,
            cpu_s=cpu_s,
            requests_s=self._requests_s,
        )

    def _send_marker(
        self, name: str, record: int, payload: bytes | None, delivered: list[Marker]
    ) -> None:
        stream = self._streams[name]
        id_ = stream.id(record)
        if payload is None:
            (payload,) = stream.source.take(record, 1, 1)
        value = b"%d;%d;%b" % (id_, time.time_ns() // 1_000_000, payload)

        def keep(error: KafkaError | None, message: Message) -> None:
            partition, offset = message.partition(), message.offset()
            if error is None and partition is not None and offset is not None:
                delivered.append(
                    Marker(stream=name, partition=partition, offset=offset, id=id_, value=value)
                )

        self._marker_producer.produce(
            stream.topic, value, partition=record % stream.partitions, on_delivery=keep
        )

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

    def _take_statistics(self, text: str) -> None:
        """Keep how long the brokers took, on average over the last second, to answer."""
        waits = [broker.get("rtt", {}) for broker in json.loads(text)["brokers"].values()]
        answers = sum(wait.get("cnt", 0) for wait in waits)
        if answers:
            self._requests_s.append(sum(wait.get("sum", 0) for wait in waits) / answers / 1e6)

    def _lost(self, error: KafkaError | None, _message: Message) -> None:
        self._errors += 1
        if self._errors == 1:
            print(f"the first record that was lost: {error}", file=sys.stderr)  # noqa: T201


def main(argv: list[str]) -> None:
    """Render, then serve the harness until it says `end` or is gone."""
    job = SenderJob.model_validate_json(Path(argv[1]).read_bytes())
    workload = cast("type[Workload]", registry.load("workloads", job.spec.workload))()
    serve(Sender(job, workload, say), sys.stdin)


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
