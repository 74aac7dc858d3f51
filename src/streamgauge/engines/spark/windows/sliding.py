"""A window for each record, over the time before it: all of its records in state of our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import TimerValues
from pyspark.sql.types import LongType, StructField, StructType

from streamgauge.engines.spark.windows.aggregate import Aggregate, Combine
from streamgauge.engines.spark.windows.groups import (
    KeptInPieces,
    fields,
    in_groups,
    kept_by,
    parts,
    read,
)

if TYPE_CHECKING:
    import pandas as pd

Integers = npt.NDArray[np.int64]

_PIECES = 8
"""Cells per window length: records are kept in cells, and forgotten cell by cell."""
_COMBINE: Mapping[Combine, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


class Sliding(KeptInPieces):
    """Keeps the records of a group of keys as long as a window may need them."""

    def __init__(self, length_ms: int, keys: Sequence[str], aggregate: Aggregate) -> None:
        self._length_ms, self._piece_ms = length_ms, max(1, length_ms // _PIECES)
        self._keys = list(keys)
        self._parts = [(part.name, part.combine) for part in aggregate.parts]

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Keep records."""
        columns = ["at", "id", *self._keys, *(name for name, _ in self._parts)]
        records = read(rows, columns)
        at_ms = records["at"].to_numpy()
        starts = at_ms - at_ms % self._piece_ms
        for start in np.unique(starts).tolist():
            self._keep(start, self._with_kept(start, records.filter(pa.array(starts == start))))
        self._handle.registerTimer(int(at_ms.min()) + 1)
        return iter(())

    def closed(
        self, pieces: Mapping[int, pa.Table], closed_ms: int, until_ms: int
    ) -> Iterator[pd.DataFrame]:
        """Emit the windows of all records before which no more can come."""
        unneeded_ms = {start: start + self._piece_ms + self._length_ms for start in pieces}
        for start in pieces:
            if unneeded_ms[start] <= until_ms:
                self._pieces.removeKey((start,))
        records = pa.concat_tables(pieces.values())
        at_ms = records["at"].to_numpy()
        later = [*(at_ms[at_ms >= until_ms] + 1).tolist(), *unneeded_ms.values()]
        if next_ms := min((each for each in later if each > until_ms), default=None):
            self._handle.registerTimer(next_ms)
        yield self._windows(records, closed_ms, until_ms).to_pandas()

    def _windows(self, records: pa.Table, closed_ms: int, until_ms: int) -> pa.Table:
        """Summarize the windows of the records from one time until another."""
        key, at_ms = _numbered(records, self._keys), records["at"].to_numpy()
        order = np.lexsort((at_ms, key))
        key, at_ms, records = key[order], at_ms[order], records.take(pa.array(order))
        place = key * (np.ptp(at_ms) + self._length_ms + 1) + at_ms
        due = np.flatnonzero((at_ms >= closed_ms) & (at_ms < until_ms))
        first = np.searchsorted(place, place[due] - self._length_ms, side="left")
        end = np.searchsorted(place, place[due], side="right")
        windows = records.select(["at", "id", *self._keys]).take(pa.array(due))
        for name, combine in self._parts:
            windows = windows.append_column(name, _combined(records[name], combine, first, end))
        return windows


def in_sliding(
    rows: DataFrame, keys: Sequence[str], aggregate: Aggregate, length_ms: int
) -> DataFrame:
    """Keep records, and summarize those before each of them when no more can come.

    A record is late when a later one has been answered; others of the same millisecond are not.
    """
    grouped = in_groups(rows, keys, F.window("time", "1 millisecond"))
    output = [
        StructField("at", LongType()),
        *fields(rows, ("id", *keys)),
        *parts(rows, aggregate),
    ]
    return kept_by(grouped, Sliding(length_ms, keys, aggregate), StructType(output))


def _numbered(records: pa.Table, keys: Sequence[str]) -> Integers:
    """Number the keys of records."""
    found = np.zeros(len(records), dtype=np.int64)
    for name in keys:
        column = pc.dictionary_encode(records[name].combine_chunks())
        found = found * len(column.dictionary) + column.indices.to_numpy()
    return found


def _combined(
    values: pa.ChunkedArray, combine: Combine, first: Integers, end: Integers
) -> pa.Array:
    """Combine the values of each range."""
    if combine == "list":
        lengths = end - first
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], lengths)
        held = values.take(pa.array(rows)).combine_chunks()
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), held)
    column = values.to_numpy()
    beyond = np.append(column, column[-1:])  # where the last range ends
    ranges = np.stack([first, end], axis=1).ravel()
    return pa.array(_COMBINE[combine].reduceat(beyond, ranges)[::2])
