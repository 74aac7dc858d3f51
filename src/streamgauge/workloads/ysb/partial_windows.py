"""Counts the windows of one task, for engines that cannot bring tasks together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.workloads.ysb.ads import Ads, store
from streamgauge.workloads.ysb.parameters import WINDOW_MS
from streamgauge.workloads.ysb.store import Row

_EVENTS = pa.schema([("ad", pa.string()), ("time_ms", pa.int64()), ("now_ms", pa.int64())])


class PartialWindows:
    """Takes views, and writes what it has counted at the end of each epoch.

    An epoch that comes again replaces what it wrote before.
    """

    def __init__(self, ads: Ads, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._ads, self._clock_ns = ads, clock_ns

    def open(self, partition_id: int, epoch_id: int) -> bool:
        """Begin an epoch."""
        self._part = f"worker-{partition_id}-{epoch_id}"
        self._events: list[tuple[str, int, int]] = []
        return True

    def process(self, row: tuple[str, int]) -> None:
        """Take a view: its ad and its time."""
        ad, time_ms = row
        self._events.append((ad, time_ms, self._clock_ns() // 1_000_000))

    def close(self, error: Exception | None) -> None:
        """Write the counts of the epoch."""
        if error is None and self._events:
            store(self._ads.redis).write(self._part, self._rows(), again=True)

    def _rows(self) -> Iterator[Row]:
        columns = zip(*self._events, strict=True)
        events = pa.table([pa.array(column) for column in columns], schema=_EVENTS)
        events = events.append_column(
            "campaign", self._ads.campaigns(events["ad"].combine_chunks())
        )
        events = events.filter(pc.is_valid(events["campaign"]))
        times = events["time_ms"].to_numpy()
        latency = pc.subtract(events["now_ms"], events["time_ms"])
        events = events.append_column("window", pa.array(times - times % WINDOW_MS))
        events = events.append_column("latency", latency)
        counts = events.group_by(["window", "campaign"]).aggregate(
            [("ad", "count"), ("time_ms", "max"), ("latency", "mean")]
        )
        counts = counts.select(["window", "campaign", "ad_count", "time_ms_max", "latency_mean"])
        yield from zip(*(column.to_pylist() for column in counts.columns), strict=True)
