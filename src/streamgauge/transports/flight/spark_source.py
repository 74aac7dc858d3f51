"""The harness's own queues as a source and a sink of Spark: Python data sources over Arrow Flight.

Offsets are those of the queues, so that a batch that was not committed is read again unchanged.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows
from pyspark.sql.types import StructType

from streamgauge.garbage import keep_imports
from streamgauge.spec.endpoints import Endpoints
from streamgauge.transports.flight.client import QueueClient
from streamgauge.transports.flight.endpoint import FlightEndpoint

FORMAT = "streamgauge"
MAX_ROWS = "maxRows"
"""Option of the source: most records of a batch, over all partitions of the stream."""

Offsets = dict[str, dict[str, int]]
"""By queue, then by partition: the shape that Kafka's offsets have."""


def read_stream(
    spark: SparkSession, endpoints: Endpoints, queue: str, options: Mapping[str, str]
) -> DataFrame:
    """Return a queue as a stream: its columns, and when the source handed each record over."""
    spark.dataSource.register(Queues)
    return (
        spark.readStream.format(FORMAT)
        .options(**options)
        .options(address=endpoints.via.address, queue=queue, partitions=endpoints.partitions)
        .load()
    )


def write_stream(result: DataFrame, endpoints: Endpoints) -> DataStreamWriter:
    """Send the values of a stream back to the harness."""
    result.sparkSession.dataSource.register(Queues)
    return result.writeStream.format(FORMAT).options(address=endpoints.via.address)


class Queues(DataSource):
    """The queues as Spark knows them; the token comes from the environment of its processes."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> StructType:
        """Ask the queue for its columns."""
        from pyspark.sql.pandas.types import from_arrow_schema

        with QueueClient(_endpoint(self.options["address"])) as client:
            columns = client.schema(self.options["queue"])
        return from_arrow_schema(columns.append(pa.field("ingested", pa.int64())))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """Return what reads a queue."""
        return Reader(self.options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Writer:  # noqa: ARG002, N802
        """Return what sends outputs back."""
        return Writer(self.options["address"])


@dataclass
class _Range(InputPartition):
    partition: int
    start: int
    stop: int


class Reader(DataSourceStreamReader):
    """Reads one queue; a task for each of its partitions."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._address, self._queue = options["address"], options["queue"]
        self._partitions = int(options["partitions"])
        self._most = int(options[MAX_ROWS]) if MAX_ROWS in options else None

    def initialOffset(self) -> Offsets:  # noqa: N802 - Spark's name
        """Begin at the beginning."""
        return self._offsets([0] * self._partitions)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Limit a batch if that was asked for."""
        return ReadAllAvailable() if self._most is None else ReadMaxRows(self._most)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """Return where the next batch ends: at all that is available, or at its limit."""
        ends = _client(self._address).state()["ends"][self._queue]
        if isinstance(limit, ReadMaxRows):
            share = max(1, limit.max_rows // self._partitions)
            begun = self._listed(start)
            ends = [min(end, at + share) for at, end in zip(begun, ends, strict=True)]
        return self._offsets(ends)

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Cut a batch by the queue's partitions."""
        both = zip(self._listed(start), self._listed(end), strict=True)
        return [_Range(p, first, stop) for p, (first, stop) in enumerate(both) if stop > first]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Pull a range, and stamp when it was handed over."""
        assert isinstance(partition, _Range)
        place, start, stop = partition.partition, partition.start, partition.stop
        for batch in _client(self._address).read(self._queue, place, start, stop):
            now_ms = time.time_ns() // 1_000_000
            ingested = pa.array(np.full(len(batch), now_ms))
            yield batch.append_column("ingested", ingested)
        keep_imports()

    def commit(self, end: Offsets) -> None:
        """Report to the queue what is done."""
        _client(self._address).commit({self._queue: self._listed(end)})

    def _offsets(self, ends: Sequence[int]) -> Offsets:
        return {self._queue: {str(partition): end for partition, end in enumerate(ends)}}

    def _listed(self, offsets: Offsets) -> list[int]:
        return [offsets[self._queue][str(partition)] for partition in range(self._partitions)]


class Writer(DataSourceStreamArrowWriter):
    """Sends the outputs of a task back as soon as it has them."""

    def __init__(self, address: str) -> None:
        self._address = address

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Send outputs; they are emitted when they arrive."""
        batches = (batch for batch in iterator if len(batch))
        first = next(batches, None)
        if first is not None:
            _client(self._address).write(chain([first], batches))
        keep_imports()
        return WriterCommitMessage()


def _client(address: str) -> QueueClient:
    """Return this process's connection; a process that was forked opens its own."""
    return _open(address, os.getpid())


@lru_cache(maxsize=1)
def _open(address: str, pid: int) -> QueueClient:  # noqa: ARG001 - tells processes apart
    return QueueClient(_endpoint(address))


def _endpoint(address: str) -> FlightEndpoint:
    """Read the address of the queues; the token comes from the environment."""
    url = urlsplit(address)
    return FlightEndpoint.restored({"host": url.hostname, "port": url.port}, os.environ)
