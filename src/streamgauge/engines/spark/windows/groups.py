"""Keys kept together in groups, for state that our code keeps in Python.

Spark calls Python once for each group and batch. With many keys to a group there are few calls,
and each handles the columns of all its keys at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import ArrayType, StructField, StructType

from streamgauge.engines.spark.windows.aggregate import Aggregate
from streamgauge.garbage import keep_imports

if TYPE_CHECKING:
    import pandas as pd

GROUPS_PER_PARTITION = 4
"""Enough that partitions get nearly the same number of them."""


class KeptInPieces(StatefulProcessor):
    """Keeps rows of a group of keys in pieces of event time, and answers as time passes."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Take the state of this task."""
        keep_imports()
        self._handle = handle
        self._pieces = handle.getMapState("pieces", "start long", "rows binary")
        self._closed = handle.getValueState("closed", "until long")

    @abstractmethod
    def closed(
        self, pieces: Mapping[int, pa.Table], closed_ms: int, until_ms: int
    ) -> Iterator[pd.DataFrame]:
        """Emit all windows that are over; forget pieces, and set the next timer."""

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Emit what is over, once for all timers that the watermark has passed."""
        (closed_ms,) = self._closed.get() or (0,)
        if expiredTimerInfo.getExpiryTimeInMs() <= closed_ms:
            return
        until_ms = int(timerValues.getCurrentWatermarkInMs())
        self._closed.update((until_ms,))
        pieces = {start: unpacked(rows) for (start,), (rows,) in self._pieces.iterator()}
        yield from self.closed(pieces, closed_ms, until_ms)

    def close(self) -> None:
        """Leave nothing open."""

    def _with_kept(self, start: int, rows: pa.Table) -> pa.Table:
        """Return rows appended to those that a piece already has."""
        kept = self._pieces.getValue((start,))
        return rows if kept is None else pa.concat_tables([unpacked(kept[0]), rows])

    def _keep(self, start: int, rows: pa.Table) -> None:
        """Store these rows as a piece."""
        self._pieces.updateValue((start,), (packed(rows),))


def in_groups(rows: DataFrame, keys: Sequence[str], window: Column) -> GroupedData:
    """Group rows by their keys, many to a group.

    Args:
        rows: With the event time in the column `time`.
        keys: Columns that identify a key.
        window: Its end decides whether a row is late.
    """
    partitions = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    group = F.pmod(F.xxhash64(*keys), F.lit(partitions * GROUPS_PER_PARTITION)).cast("int")
    columns = [name for name in rows.columns if name != "time"]
    return (
        rows.withColumn("window", window)
        .select(
            F.window_time("window").alias("closes"),
            F.unix_millis("time").alias("at"),
            group.alias("group"),
            *columns,
        )
        .groupBy("group")
    )


def kept_by(grouped: GroupedData, processor: StatefulProcessor, output: StructType) -> DataFrame:
    """Let a processor keep the state of each group, and emit what is over in event time."""
    return grouped.transformWithStateInPandas(
        statefulProcessor=processor,
        outputStructType=output,
        outputMode="Append",
        timeMode="EventTime",
    )


def fields(rows: DataFrame, names: Sequence[str]) -> list[StructField]:
    """Return columns with their types."""
    types = {field.name: field.dataType for field in rows.schema}
    return [StructField(name, types[name]) for name in names]


def parts(rows: DataFrame, aggregate: Aggregate) -> list[StructField]:
    """Return the columns of an aggregate's parts; parts that keep all values are lists."""
    lifted = fields(rows, [part.name for part in aggregate.parts])
    for part, field in zip(aggregate.parts, lifted, strict=True):
        if part.combine == "list":
            field.dataType = ArrayType(field.dataType)
    return lifted


def read(rows: Iterator[Any], columns: Sequence[str]) -> pa.Table:
    """Read columns of what Spark has handed over."""
    frames = (frame[list(columns)] for frame in rows)
    return pa.concat_tables(pa.Table.from_pandas(frame, preserve_index=False) for frame in frames)


def packed(rows: pa.Table) -> bytes:
    """Write rows into a cell."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return bytes(sink.getvalue())


def unpacked(cell: bytes) -> pa.Table:
    """Read them back."""
    return pa.ipc.open_stream(cell).read_all()
