"""The harness's queues as a process: `python -m streamgauge.transports.flight.server SENDER.json`.

The queues are filled by the schedule, tick by tick, whatever the engine does; it pulls over Arrow
Flight, commits what it has done, and sends its outputs back. Records are generated when they are
pulled, so that a queue of any length takes no memory; its bound applies nevertheless.
"""

from __future__ import annotations

import hmac
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

from streamgauge.load.lateness import Lateness
from streamgauge.load.open_loop import Tick
from streamgauge.load.protocol import Line, Marker, Markers, Overrun, SenderJob, Sent, TickLine
from streamgauge.load.serving import say, serve
from streamgauge.services.endpoints import read_endpoints
from streamgauge.spec.trial import TrialSpec
from streamgauge.transports.flight.client import COMMIT, STATE
from streamgauge.transports.flight.endpoint import FlightEndpoint
from streamgauge.transports.flight.log import QueueLog
from streamgauge.transports.flight.outputs import Outputs
from streamgauge.transports.flight.queue import Filling, Queue, queue_of
from streamgauge.units import format_size

TICK_S = 0.005
_ROW_MS = 100
_NS = 1_000_000
_SWITCH_S = 0.0005
"""A thread that generates records gives way to the clock's thread after this time."""


class Queues(flight.FlightServerBase):  # type: ignore[misc]  # PyArrow has no types
    """Serves all queues of a trial, and takes in what comes back."""

    def __init__(
        self,
        address: str,
        token: str,
        queues: Mapping[str, Queue],
        outputs: Outputs,
        complain: Callable[[str], None],
    ) -> None:
        super().__init__(address, middleware={"token": _Doorkeeper(token)})
        self.filling = Filling()
        self._queues = queues
        self._outputs = outputs
        self._complain = complain
        self._lock = threading.Lock()
        self.committed = {name: [0] * queue.partitions for name, queue in queues.items()}
        self.handed = {name: [0] * queue.partitions for name, queue in queues.items()}

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the records that are in the queues and not done, as if they took memory."""
        return sum(
            queue.row_bytes * (sum(queue.ends(self.filling)) - sum(self.committed[name]))
            for name, queue in self._queues.items()
        )

    def get_schema(
        self,
        context: flight.ServerCallContext,  # noqa: ARG002
        descriptor: flight.FlightDescriptor,
    ) -> flight.SchemaResult:
        """Return the columns of a queue."""
        return flight.SchemaResult(self._queues[descriptor.path[0].decode()].schema)

    def do_get(
        self,
        context: flight.ServerCallContext,  # noqa: ARG002
        ticket: flight.Ticket,
    ) -> flight.FlightDataStream:
        """Hand out a range of a queue's partition."""
        wanted = json.loads(ticket.ticket)
        name, partition = str(wanted["queue"]), int(wanted["partition"])
        start, stop = int(wanted["start"]), int(wanted["stop"])
        filling = self.filling
        if name not in self._queues or not 0 <= partition < self._queues[name].partitions:
            raise KeyError(f"there is no partition {partition} of a queue {name!r}")
        end = self._queues[name].end(partition, filling)
        if not self.committed[name][partition] <= start <= stop <= end:
            raise ValueError(
                f"{name} has the offsets {self.committed[name][partition]} to {end} in partition"
                f" {partition}, not {start} to {stop}"
            )
        batches = self._hand_out(name, partition, start, stop, filling)
        return flight.GeneratorStream(self._queues[name].schema, batches)

    def do_put(
        self,
        context: flight.ServerCallContext,  # noqa: ARG002
        descriptor: flight.FlightDescriptor,  # noqa: ARG002
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,  # noqa: ARG002
    ) -> None:
        """Take outputs in; they are emitted now."""
        for chunk in reader:
            self._outputs.take(chunk.data)

    def do_action(
        self,
        context: flight.ServerCallContext,  # noqa: ARG002
        action: flight.Action,
    ) -> list[flight.Result]:
        """Return the state, or note what is done."""
        if action.type == STATE:
            return _answer(self._state())
        if action.type == COMMIT:
            with self._lock:
                for name, ends in json.loads(action.body.to_pybytes()).items():
                    done, handed = self.committed[name], self.handed[name]
                    if any(end > have for end, have in zip(ends, handed, strict=True)):
                        raise ValueError(f"{name}: records that were not pulled cannot be finished")
                    done[:] = [max(*both) for both in zip(done, ends, strict=True)]
            return _answer({})
        raise KeyError(f"unknown action {action.type!r}: {STATE} and {COMMIT} are known")

    def _state(self) -> dict[str, Any]:
        filling = self.filling
        return {
            "ends": {name: queue.ends(filling) for name, queue in self._queues.items()},
            "committed": self.committed,
            "handed": self.handed,
            "outputs": self._outputs.count,
            "newest": self._outputs.newest,
        }

    def _hand_out(
        self, name: str, partition: int, start: int, stop: int, filling: Filling
    ) -> Iterator[pa.RecordBatch]:
        at = start
        try:
            for batch in self._queues[name].batches(partition, start, stop, filling):
                yield batch
                at += len(batch)
                self._count(name, partition, start, at)
        except GeneratorExit:
            self._complain(
                f"the engine broke off the transfer of {name}, partition {partition},"
                f" {stop - at} records before its end"
            )
            raise

    def _count(self, name: str, partition: int, start: int, at: int) -> None:
        """Note how far a partition was handed out; a gap before a range was not."""
        with self._lock:
            handed = self.handed[name]
            if start <= handed[partition]:
                handed[partition] = max(handed[partition], at)


class _Doorkeeper(flight.ServerMiddlewareFactory):  # type: ignore[misc]  # PyArrow has no types
    """Lets in clients that know the token."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, list[str]]) -> None:  # noqa: ARG002
        """Check a call's token."""
        given = headers.get("authorization", [""])[0]
        if not hmac.compare_digest(given.encode(), self._expected):
            raise flight.FlightUnauthenticatedError("the token is not the one of this trial")


class QueueLoad:
    """Fills the queues of a trial by its schedule."""

    def __init__(
        self,
        spec: TrialSpec,
        names: dict[str, str],
        queues: Mapping[str, Queue],
        server: Queues,
        ticks: Path,
    ) -> None:
        self.say: Callable[[Line], None] = say
        self._spec, self._queues, self._server = spec, queues, server
        self._names = names
        """The queue of each stream."""
        self._file = ticks
        self._schedule = next(iter(queues.values())).schedule
        self._records = next(iter(queues.values())).records
        self._ticks: list[tuple[int, int]] = []
        self._rows: list[Tick] = []
        self._lateness = Lateness()
        self._full = False

    def configuration(self) -> Markers:
        """Put in nothing: no query over these queues has a stream that goes before the load."""
        return Markers(markers=[])

    def markers(self) -> Markers:
        """Put one marker into every partition of every queue."""
        return self._put("first_ms" if self._server.filling.first_ms is None else "last_ms")

    def sentinels(self) -> Markers:
        """Put one sentinel into every partition of every queue."""
        return self._put("sentinel_ms")

    def load(self, start_ms: int) -> Sent:
        """Fill the queues from that time on; a backlog is there at once."""
        if self._server.filling.first_ms is None:
            self.markers()
        cpu_s = time.process_time()
        self._server.filling = self._server.filling.model_copy(update={"start_ms": start_ms})
        if self._spec.backlog:
            self._fill(start_ms, start_ms, self._records)
        while self._server.filling.load < self._records:
            time.sleep(TICK_S)
            now_ms = time.time_ns() // _NS
            due = min(self._schedule.due(now_ms - start_ms), self._records)
            if due > self._server.filling.load:
                self._fill(now_ms, start_ms, due)
            self._tell(now_ms, due)
        self._row(time.time_ns() // _NS, self._records)
        pq.write_table(pa.Table.from_pylist([asdict(row) for row in self._rows]), self._file)
        total = self._records * len(self._queues)
        return Sent(
            due=total,
            sent=total,
            acknowledged=total,
            errors=0,
            backpressure_s=0.0,
            lateness=self._lateness.counts,
            fifo=os.sched_getscheduler(0) == os.SCHED_FIFO,
            cpu_s=time.process_time() - cpu_s,
            requests_s=[],
        )

    def log(self) -> QueueLog:
        """Return what the queues have held, for a reader that needs the same records again."""
        return QueueLog(
            filling=self._server.filling,
            handed={stream: self._server.handed[name] for stream, name in self._names.items()},
            at_ms=[at_ms for at_ms, _ in self._ticks],
            load=[load for _, load in self._ticks],
        )

    def _put(self, what: str) -> Markers:
        filling = self._server.filling.model_copy(update={what: time.time_ns() // _NS})
        self._server.filling = filling
        if not self._ticks:
            self._ticks.append((time.time_ns() // _NS, 0))
        return Markers(
            markers=[
                self._marker(stream, self._queues[name], partition, filling)
                for stream, name in self._names.items()
                for partition in range(self._spec.partitions)
            ]
        )

    def _marker(self, stream: str, queue: Queue, partition: int, filling: Filling) -> Marker:
        offset = queue.end(partition, filling) - 1
        (batch,) = queue.batches(partition, offset, offset + 1, filling)
        cells = [column[0].as_py() for column in batch.columns]
        value = ";".join(map(str, cells)).encode()
        return Marker(
            stream=stream,
            partition=partition,
            offset=offset,
            appended_ms=time.time_ns() // _NS,
            id=cells[0],
            value=value,
        )

    def _fill(self, now_ms: int, start_ms: int, due: int) -> None:
        """Make what is due available, and note how late each millisecond's records are."""
        done = self._server.filling.load
        self._server.filling = self._server.filling.model_copy(update={"load": due})
        if not self._spec.backlog:
            now_ms = time.time_ns() // _NS  # not before it was available
        self._ticks.append((now_ms, due))
        while done < due and not self._spec.backlog:
            intended_ms = self._schedule.intended_ms(done)
            upto = min(self._schedule.due(intended_ms), due)
            late_ns = time.time_ns() - (start_ms + intended_ms) * _NS
            self._lateness.add(late_ns, (upto - done) * len(self._queues))
            done = upto

    def _tell(self, now_ms: int, due: int) -> None:
        if self._rows and now_ms - self._rows[-1].at_ms < _ROW_MS:
            return
        self._row(now_ms, due)
        if len(self._rows) % 10 == 0:
            row = self._rows[-1]
            self.say(
                TickLine(
                    at_ms=row.at_ms, due=row.due, sent=row.sent, outstanding=0, errors=row.errors
                )
            )
        bound = self._spec.load.queue
        if not self._full and self._server.waiting_bytes > bound:
            self._full = True
            self.say(Overrun(reason=f"the queues are full: {format_size(bound)} wait (-L queue)"))

    def _row(self, now_ms: int, due: int) -> None:
        count = len(self._queues)
        there = self._server.filling.load
        self._rows.append(Tick(now_ms, due * count, there * count, 0, 0, 0.0))


def _answer(content: dict[str, Any]) -> list[flight.Result]:
    return [flight.Result(json.dumps(content).encode())]


def main(argv: list[str]) -> None:
    """Draw the records, then serve engine and harness until the harness ends it or is gone."""
    job = SenderJob.model_validate_json(Path(argv[1]).read_bytes())
    folder = job.ticks.parent
    endpoints = read_endpoints(job.endpoints)
    via, names = FlightEndpoint.of(endpoints.via), dict(endpoints.inputs)
    queues = {name: queue_of(job.spec, stream) for stream, name in names.items()}
    sys.setswitchinterval(_SWITCH_S)
    with Outputs(folder) as outputs:
        server = Queues(
            via.address,
            via.token,
            queues,
            outputs,
            lambda reason: say(Overrun(reason=reason)),
        )
        load = QueueLoad(job.spec, names, queues, server, job.ticks)
        serve(load, sys.stdin)
        load.log().write(folder)
        server.shutdown()


if __name__ == "__main__":
    main(sys.argv)
