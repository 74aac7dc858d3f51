"""The open loop: send all that is due, never skip, never slow down with the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from streamgauge.load.lateness import Lateness
from streamgauge.load.payloads import Source
from streamgauge.load.schedule import Schedule
from streamgauge.spec.form import FRONT, Form
from streamgauge.spec.transport import Producer

OVERRUN_MS = 1000
"""How long after the schedule's end the sender may still catch up."""
_ROW_MS = 100
_POLL_MS = 10
"""Delivery reports are taken this often."""
_NS = 1_000_000


@dataclass
class Stream:
    """One input stream and how far it has been sent."""

    topic: str
    partitions: int
    source: Source[bytes]
    number: int
    """Position among the query's streams."""
    of: int
    """How many streams the query has."""
    next: int = 0
    """Number of the next record."""
    step: int = 1
    """How many senders share the stream: the others send the records in between."""
    form: Form = FRONT
    keys: Source[bytes] | None = None
    """None for records without a key."""
    chosen: Source[int] | None = None
    """Partitions that follow keys; None where they follow the record's number."""
    shifts: Source[int] | None = None
    """Event time less intended time; None for payloads without an event time."""
    dated: Callable[[int], bytes] | None = None
    """How a time is written in payloads; None for those without one."""

    def id(self, record: int) -> int:
        """Return the id of a record, unique among all streams of the trial."""
        return self.number + record * self.of

    def payloads(self, first: int, count: int, intended_ms: int) -> Sequence[bytes]:
        """Return those of the records from `first` on, which are due at that time."""
        taken = self.source.take(first, count, self.step)
        if self.dated is not None:
            date = self.dated(intended_ms)
            return [each % date for each in taken]
        if self.shifts is None:
            return taken
        shifts = self.shifts.take(first, count, self.step)
        return [each % (intended_ms + by) for each, by in zip(taken, shifts, strict=True)]


@dataclass(frozen=True)
class Tick:
    """Where the sender stands; counts are over all streams since the load began."""

    at_ms: int
    due: int
    sent: int
    outstanding: int
    errors: int
    send_lateness_s: float
    """Greatest since the tick before."""


class OpenLoop:
    """Sends one load; `run` returns when it is over."""

    def __init__(
        self,
        producer: Producer,
        streams: Sequence[Stream],
        schedule: Schedule,
        records: int,
        errors: Callable[[], int],
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.lateness = Lateness()
        self.rows: list[Tick] = []
        """One per 100 ms."""
        self.backpressure_s = 0.0
        self._producer = producer
        self._streams = streams
        self._schedule = schedule
        self._records = records
        self._errors = errors
        self._clock_ns = clock_ns
        self._sleep = sleep
        self._begun = [stream.next for stream in streams]
        self._due = self._sent = 0
        self._latest_ns = 0

    @property
    def due(self) -> int:
        """Records of all streams that were due so far."""
        return self._due * len(self._streams)

    @property
    def sent(self) -> int:
        """Records of all streams that were sent so far."""
        return sum(
            (stream.next - first) // stream.step
            for stream, first in zip(self._streams, self._begun, strict=True)
        )

    def run(self, start_ms: int, report: Callable[[Tick], None]) -> None:
        """Send everything from `start_ms` on; `report` gets a tick once a second.

        Stops a second after the schedule's end, even if not everything could be sent.
        """
        end_ms = start_ms + self._schedule.intended_ms(self._records) + OVERRUN_MS
        next_row_ms = start_ms + _ROW_MS
        next_poll_ms = start_ms
        while self._sent < self._records and (now_ms := self._clock_ns() // _NS) <= end_ms:
            self._due = min(self._schedule.due(now_ms - start_ms), self._records)
            self._send_due(start_ms, end_ms, now_ms + _POLL_MS)
            if now_ms >= next_poll_ms:
                self._producer.poll(0)
                next_poll_ms = now_ms + _POLL_MS
            if now_ms >= next_row_ms:
                self._row(now_ms)
                next_row_ms += _ROW_MS * ((now_ms - next_row_ms) // _ROW_MS + 1)
                if len(self.rows) % 10 == 0:
                    report(self.rows[-1])
            self._sleep_until_due(start_ms)
        self._row(self._clock_ns() // _NS)

    def _send_due(self, start_ms: int, end_ms: int, until_ms: int) -> None:
        """Send what is due, all records of a millisecond at once.

        A sender that cannot keep its schedule leaves the rest to the next tick at `until_ms`, so
        that delivery reports and rows come as often as before.
        """
        while self._sent < self._due and self._clock_ns() < until_ms * _NS:
            intended_ms = self._schedule.intended_ms(self._sent)
            count = min(self._schedule.due(intended_ms), self._records) - self._sent
            for stream in self._streams:
                send = self._send if stream.keys is None else self._send_keyed
                if not send(stream, count, start_ms + intended_ms, end_ms):
                    return
            self._sent += count
            late_ns = self._clock_ns() - (start_ms + intended_ms) * _NS
            self.lateness.add(late_ns, count * len(self._streams))
            self._latest_ns = max(self._latest_ns, late_ns)

    def _send(self, stream: Stream, count: int, intended_ms: int, end_ms: int) -> bool:
        """Send a stream's next records; False when there was no room until the end."""
        produce, topic, partitions = self._producer.produce, stream.topic, stream.partitions
        first, step = stream.next, stream.step
        end = first + count * step
        shape = stream.form.shape % intended_ms
        payloads = stream.payloads(first, count, intended_ms)
        ids = range(stream.id(first), stream.id(end), stream.of * step)
        for record, id_, payload in zip(range(first, end, step), ids, payloads, strict=True):
            value = shape % (id_, payload)
            try:
                produce(topic, value, None, record % partitions)
            except BufferError:
                if not self._send_when_room(topic, value, None, record % partitions, end_ms):
                    stream.next = record
                    return False
        stream.next = end
        return True

    def _send_keyed(self, stream: Stream, count: int, intended_ms: int, end_ms: int) -> bool:
        """Do the same for records that have keys.

        This is a separate loop, because each further step in the other one costs at high rates.
        """
        assert stream.keys is not None
        produce, topic = self._producer.produce, stream.topic
        first, step = stream.next, stream.step
        end = first + count * step
        records = range(first, end, step)
        ids = range(stream.id(first), stream.id(end), stream.of * step)
        shape = stream.form.shape % intended_ms
        payloads = stream.payloads(first, count, intended_ms)
        keys = stream.keys.take(first, count, step)
        if stream.chosen is None:
            partitions: Sequence[int] = [record % stream.partitions for record in records]
        else:
            partitions = stream.chosen.take(first, count, step)
        columns = zip(records, ids, payloads, keys, partitions, strict=True)
        for record, id_, payload, key, partition in columns:
            value = shape % (id_, payload)
            try:
                produce(topic, value, key, partition)
            except BufferError:
                if not self._send_when_room(topic, value, key, partition, end_ms):
                    stream.next = record
                    return False
        stream.next = end
        return True

    def _send_when_room(
        self, topic: str, value: bytes, key: bytes | None, partition: int, end_ms: int
    ) -> bool:
        """Wait for room, since nothing is skipped; False when there was none until the end."""
        began_ns = self._clock_ns()
        try:
            while self._clock_ns() <= end_ms * _NS:
                self._producer.poll(0.001)
                with suppress(BufferError):
                    self._producer.produce(topic, value, key, partition)
                    return True
            return False
        finally:
            self.backpressure_s += (self._clock_ns() - began_ns) / 1e9

    def _row(self, now_ms: int) -> None:
        outstanding = len(self._producer)
        latest_s, self._latest_ns = self._latest_ns / 1e9, 0
        row = Tick(now_ms, self.due, self.sent, outstanding, self._errors(), latest_s)
        self.rows.append(row)

    def _sleep_until_due(self, start_ms: int) -> None:
        """Sleep to the next record's millisecond, or to the next look at delivery reports."""
        now_ns = self._clock_ns()
        next_ms = start_ms + self._schedule.intended_ms(self._sent)
        wake_ns = min(next_ms * _NS, now_ns + _POLL_MS * _NS)
        if wake_ns > now_ns:
            self._sleep((wake_ns - now_ns) / 1e9)
