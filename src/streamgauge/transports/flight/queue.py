"""A queue whose records are generated when they are pulled: always the same, from seed and time.

A partition of a stream holds, one after the other, its first marker, the load, its last marker
and its sentinel. Offset o of partition p is record o·N + p of the stream, of N partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge import registry
from streamgauge.load import arrivals
from streamgauge.load.schedule import Schedule
from streamgauge.spec.payloads import Columns
from streamgauge.spec.trial import Model, TrialSpec
from streamgauge.spec.workload import HasColumns

ROWS = 65_536
"""Most records of a batch."""
Integers = npt.NDArray[np.int64]


class Filling(Model):
    """How far the queues of a trial are filled: times are epoch milliseconds."""

    first_ms: int | None = None
    """When the first markers were put in; None before that."""
    start_ms: int | None = None
    """When the load began."""
    load: int = 0
    """Records of the load that are there, of each stream."""
    last_ms: int | None = None
    """When the last markers were put in, after the whole load."""
    sentinel_ms: int | None = None


@dataclass(frozen=True)
class Queue:
    """All records that one stream can have."""

    columns: Columns
    number: int
    """Position among the query's streams."""
    of: int
    """How many streams the query has."""
    partitions: int
    schedule: Schedule
    records: int
    """Of the whole load."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a record."""
        own = [pa.field("id", pa.int64()), pa.field("intended", pa.int64())]
        return pa.schema([*own, *self.columns.ring.schema])

    @property
    def row_bytes(self) -> int:
        """Bytes that a record takes."""
        return sum(field.type.bit_width // 8 for field in self.schema)

    def end(self, partition: int, filling: Filling) -> int:
        """Return the next offset of a partition."""
        if filling.first_ms is None:
            return 0
        after = (filling.last_ms, filling.sentinel_ms)
        return 1 + self._share(partition, filling.load) + sum(at is not None for at in after)

    def ends(self, filling: Filling) -> list[int]:
        """Return the next offset of every partition."""
        return [self.end(partition, filling) for partition in range(self.partitions)]

    def batches(
        self, partition: int, start: int, stop: int, filling: Filling
    ) -> Iterator[pa.RecordBatch]:
        """Generate the records with offsets from `start` up to `stop`, in order.

        A batch holds a part of the load, or a single marker or sentinel.
        """
        for at, end in self._pieces(partition, start, stop):
            number = np.arange(at, end) * self.partitions + partition
            put_ms = self.put_ms(partition, at, filling)
            if put_ms is None:
                assert filling.start_ms is not None
                load = self.schedule.intended_ms(number - self.partitions)
                intended = filling.start_ms + load
            else:
                intended = np.full(1, put_ms)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(self.number + number * self.of),
                    pa.array(intended),
                    *self._payload(partition, at, end),
                ],
                schema=self.schema,
            )

    def put_ms(self, partition: int, offset: int, filling: Filling) -> int | None:
        """Return when a marker or sentinel was put in; None for an offset of the load."""
        load_end = self._load_end(partition)
        if 0 < offset < load_end:
            return None
        put = {0: filling.first_ms, load_end: filling.last_ms}.get(offset, filling.sentinel_ms)
        assert put is not None, "what is not in the queue cannot be asked for"
        return put

    def load_index(self, partition: int, offsets: Integers) -> Integers:
        """Return which record of the load is at each of these offsets."""
        return (offsets - 1) * self.partitions + partition

    def _pieces(self, partition: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
        load_end, ring = self._load_end(partition), len(self._rings[partition])
        while start < stop:
            turn = start - start % ring + ring
            bounds = (1, load_end, load_end + 1, start + ROWS, turn)
            end = min(stop, *(bound for bound in bounds if bound > start))
            yield start, end
            start = end

    def _payload(self, partition: int, start: int, end: int) -> list[pa.Array]:
        if start > self._load_end(partition):
            sentinel, fields = self.columns.sentinel, self.columns.ring.schema
            return [pa.array([sentinel[field.name]], field.type) for field in fields]
        ring = self._rings[partition]
        payload: list[pa.Array] = ring.slice(start % len(ring), end - start).columns
        return payload

    def _load_end(self, partition: int) -> int:
        return 1 + self._share(partition, self.records)

    def _share(self, partition: int, load: int) -> int:
        """Count the records of the load in one partition."""
        return max(0, -((partition - load) // self.partitions))

    @cached_property
    def _rings(self) -> list[pa.RecordBatch]:
        """Cut the ring by partitions, so that a batch is a slice of it."""
        ring = self.columns.ring
        if len(ring) < self.partitions:
            ring = pa.concat_tables([ring] * self.partitions)
        whole = len(ring) - len(ring) % self.partitions
        return [
            pa.RecordBatch.from_arrays(
                [
                    pa.array(
                        np.ascontiguousarray(column.to_numpy()[partition : whole : self.partitions])
                    )
                    for column in ring.columns
                ],
                schema=ring.schema,
            )
            for partition in range(self.partitions)
        ]


@dataclass(frozen=True)
class Ticks:
    """When which part of a load became available."""

    at_ms: Integers
    load: Integers
    """Records of the load, of each stream, that were there then."""

    def available_ms(self, index: Integers) -> Integers:
        """Return when each record of the load became available; the records are in order."""
        # There are many records to a tick: they are counted, not looked up one by one.
        first, last = np.searchsorted(self.load, index[[0, -1]], side="right")
        ends = np.searchsorted(index, self.load[first : last + 1], side="left")
        return np.repeat(self.at_ms[first : last + 1], np.diff(ends, prepend=0))


@lru_cache(maxsize=2)
def _build(spec_json: str, stream: str) -> Queue:
    spec = TrialSpec.model_validate_json(spec_json)
    workload = registry.load("workloads", spec.workload)()
    assert isinstance(workload, HasColumns)
    streams = workload.queries[spec.query].streams
    return Queue(
        columns=workload.columns(spec, stream, arrivals.payloads(spec)),
        number=streams.index(stream),
        of=len(streams),
        partitions=spec.partitions,
        schedule=arrivals.schedule(spec),
        records=arrivals.records(spec),
    )


def queue_of(spec: TrialSpec, stream: str) -> Queue:
    """Return the queue of a trial's stream; the trial's spec is all it needs."""
    return _build(spec.model_dump_json(), stream)
