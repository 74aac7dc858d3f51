"""Counts what a task sees, for engines that cannot bring tasks together."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.workloads.ysb.ads import Ads, store
from streamgauge.workloads.ysb.parameters import WINDOW_MS
from streamgauge.workloads.ysb.store import Row

_begun: set[int] = set()
"""Partitions of which this process has counted something."""


@dataclass(frozen=True)
class PartialWindows:
    """Adds parts of windows to Redis, each under the place of its first view in the log.

    What an earlier process had counted from there on, and not reported to its engine, is forgotten.
    """

    ads: Ads
    clock: Callable[[], float] = time.time

    def count(
        self, ad: pa.Array, time_ms: pa.Array, partition: pa.Array, offset: pa.Array
    ) -> pa.Array:
        """Count views of one partition, in the order of the log; return their offsets."""
        if len(ad):
            redis, number, first = store(self.ads.redis), partition[0].as_py(), offset[0].as_py()
            if number not in _begun:
                redis.forget(number, first)
                _begun.add(number)
            redis.write(f"worker-{number}-{first}", self._rows(ad, time_ms), again=True)
        return offset

    def _rows(self, ad: pa.Array, time_ms: pa.Array) -> list[Row]:
        times, now_ms = time_ms.to_numpy(), round(self.clock() * 1000)
        views = pa.table(
            {
                "campaign": self.ads.campaigns(ad),
                "window": times - times % WINDOW_MS,
                "time_ms": times,
                "latency_ms": now_ms - times.astype(np.float64),
            }
        )
        views = views.filter(pc.is_valid(views["campaign"]))
        counts = views.group_by(["window", "campaign"]).aggregate(
            [("time_ms", "count"), ("time_ms", "max"), ("latency_ms", "mean")]
        )
        names = ("window", "campaign", "time_ms_count", "time_ms_max", "latency_ms_mean")
        return list(zip(*(counts[name].to_pylist() for name in names), strict=True))
