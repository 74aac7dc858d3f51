"""The harness's own queues as our own engines, in Python, read and write them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import RECORDS
from streamgauge.spec.endpoints import Endpoints
from streamgauge.transports.flight.client import QueueClient
from streamgauge.transports.flight.endpoint import FlightEndpoint

_LOOK_S = 0.005


class Pulled:
    """Records as they were pulled: columns, or nothing."""

    def __init__(self, columns: pa.Table | None) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return 0 if self._columns is None else len(self._columns)

    def table(self) -> pa.Table:
        """Return records with their columns written as one value, the way a broker carries them."""
        records = self._columns
        if records is None or not len(records):
            return RECORDS.empty_table()
        names = [name for name in records.column_names if name not in ("partition", "offset")]
        cells = [pc.cast(records[name], pa.string()) for name in names]
        value = pc.binary_join_element_wise(*cells, ";", null_handling="skip")
        return pa.table(
            {
                "partition": records["partition"],
                "offset": records["offset"],
                "timestamp": records["intended"],
                "value": pc.cast(value, pa.binary()),
            },
            schema=RECORDS,
        )


class QueueReader:
    """Pulls from the harness's queues; what was read counts as done with the next read."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._client = QueueClient(FlightEndpoint.of(endpoints.via))
        self._streams = {queue: stream for stream, queue in endpoints.inputs.items()}
        self._read = {queue: [0] * endpoints.partitions for queue in self._streams}

    def read(self, timeout_s: float = 0.1, most: int = 500_000) -> Pulled:
        """Return the available records, after waiting at most that long for any."""
        self._client.commit(self._read)
        deadline = time.monotonic() + timeout_s
        while (ends := self._client.state()["ends"]) == self._read:
            if time.monotonic() > deadline:
                return Pulled(None)
            time.sleep(_LOOK_S)
        tables = [
            self._pull(queue, partition, min(end, start + most))
            for queue, starts in self._read.items()
            for partition, (start, end) in enumerate(zip(starts, ends[queue], strict=True))
            if end > start
        ]
        return Pulled(pa.concat_tables(tables, promote_options="default"))

    def positions(self) -> dict[str, list[int]]:
        """Return the next offset to be read of every partition, by stream."""
        return {self._streams[queue]: list(ends) for queue, ends in self._read.items()}

    def close(self) -> None:
        """Stop reading."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pull(self, queue: str, partition: int, stop: int) -> pa.Table:
        start = self._read[queue][partition]
        found = pa.Table.from_batches(self._client.read(queue, partition, start, stop))
        self._read[queue][partition] = stop
        partitions = pa.repeat(pa.scalar(partition, pa.int32()), len(found))
        offsets = pa.array(np.arange(start, stop))
        return found.append_column("partition", partitions).append_column("offset", offsets)


class QueueOutlet:
    """Sends back to the harness's queues."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._client = QueueClient(FlightEndpoint.of(endpoints.via))

    def put(self, values: Sequence[bytes]) -> None:
        """Send values; they have arrived when this returns."""
        if values:
            self._client.write([pa.record_batch([pa.array(values, pa.binary())], names=["value"])])

    def flush(self) -> None:
        """Do nothing: everything has arrived."""
