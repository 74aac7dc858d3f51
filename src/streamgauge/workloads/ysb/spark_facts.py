"""How each of both queries may be run on Spark."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.engines.spark.facts import QueryFacts

_PER_EVENT = "it puts out a window after every event, and never says which output is the last"
_NO_BATCHES = "it has no foreachBatch, with which Redis is written in batches"
_IN_PARTS = (
    "it knows no aggregation, and the parts of a window that its tasks count"
    " can be added up in Redis alone: use ysb/redis"
)

OUT_OF_STEP_MS = 1_000
"""Partitions may be so far apart; windows wait for it, since the watermark is the foremost's."""

FACTS: Mapping[str, QueryFacts] = {
    "redis": QueryFacts(
        default="microbatch",
        refused={"realtime": _NO_BATCHES},
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
    "topic": QueryFacts(
        default="microbatch",
        refused={"realtime": _PER_EVENT, "continuous": _IN_PARTS},
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
}
