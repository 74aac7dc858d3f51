"""Lazy slices in state of our own: at most two for each slide, combined per window.

They are cut where a window begins or ends, as Scotty cuts them, so that there are few of them
even where size and slide have no long common divisor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import TimerValues
from pyspark.sql.types import LongType, StructField, StructType

from streamgauge.engines.spark.windows.aggregate import Aggregate
from streamgauge.engines.spark.windows.groups import (
    KeptInPieces,
    fields,
    in_groups,
    kept_by,
    parts,
    read,
)
from streamgauge.measure.window_methods import Hopping

if TYPE_CHECKING:
    import pandas as pd


class Pairs(KeptInPieces):
    """Keeps the slices of a group of keys until no open window needs them."""

    def __init__(self, windows: Hopping, keys: Sequence[str], aggregate: Aggregate) -> None:
        self._windows, self._keys = windows, list(keys)
        self._parts = [(part.name, part.combine) for part in aggregate.parts]
        self._whole = aggregate.holistic
        """Whether slices keep their records as they are."""

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Add records to their slices."""
        columns = ["at", *self._keys, *(name for name, _ in self._parts)]
        starts = []
        for start, records in self._cut(read(rows, columns)):
            together = self._with_kept(start, records)
            self._keep(start, records if together is records else self._combined(together))
            starts.append(start)
        if starts:
            self._handle.registerTimer(self._windows.first_end_ms(min(starts)))
        return iter(())

    def closed(
        self, pieces: Mapping[int, pa.Table], closed_ms: int, until_ms: int
    ) -> Iterator[pd.DataFrame]:
        """Emit all windows that are over, and forget slices that no other window needs."""
        ends = {start: self._windows.ends_ms(start) for start in sorted(pieces)}
        all_ends = sorted({end for each in ends.values() for end in each if end > closed_ms})
        for end in all_ends[: bisect_right(all_ends, until_ms)]:
            yield self._window(end, [pieces[start] for start in ends if end in ends[start]])
        for start, each in ends.items():
            if each[-1] <= until_ms:
                self._pieces.removeKey((start,))
        if all_ends and all_ends[-1] > until_ms:
            self._handle.registerTimer(all_ends[bisect_right(all_ends, until_ms)])

    def _window(self, end_ms: int, slices: Sequence[pa.Table]) -> pd.DataFrame:
        """Combine slices."""
        found = self._summed(pa.concat_tables(slices), self._keys)
        start = pa.array(np.full(len(found), end_ms - self._windows.size_ms))
        window: pd.DataFrame = found.add_column(0, "start", start).to_pandas()
        return window

    def _cut(self, records: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Split records into slices, each combined."""
        starts = self._windows.slice_starts_ms(records["at"].to_numpy())
        rows = records.drop_columns(["at"]).append_column("slice", pa.array(starts))
        if not self._whole:
            rows = self._summed(rows, ["slice", *self._keys])
        rows = rows.sort_by("slice")
        places, first = np.unique(rows["slice"].to_numpy(), return_index=True)
        rows = rows.drop_columns(["slice"])
        for start, begin, end in zip(
            places.tolist(), first.tolist(), [*first[1:].tolist(), len(rows)], strict=True
        ):
            yield start, rows.slice(begin, end - begin)

    def _combined(self, rows: pa.Table) -> pa.Table:
        return rows if self._whole else self._summed(rows, self._keys)

    def _summed(self, rows: pa.Table, by: Sequence[str]) -> pa.Table:
        found = rows.group_by(list(by), use_threads=False).aggregate(self._parts)
        return found.select([*by, *(f"{name}_{how}" for name, how in self._parts)]).rename_columns(
            [*by, *(name for name, _ in self._parts)]
        )


def in_pairs(
    rows: DataFrame, keys: Sequence[str], aggregate: Aggregate, windows: Hopping
) -> DataFrame:
    """Keep slices, and combine them when a window is over.

    A record is late when the first window that it is in is over.
    """
    slide, rest = f"{windows.slide_ms} milliseconds", f"{windows.rest_ms} milliseconds"
    grouped = in_groups(rows, keys, F.window("time", slide, slide, rest))
    output = [StructField("start", LongType()), *fields(rows, keys), *parts(rows, aggregate)]
    return kept_by(grouped, Pairs(windows, keys, aggregate), StructType(output))
