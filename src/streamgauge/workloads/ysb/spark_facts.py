"""How each of both queries may be run on Spark."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.engines.spark.facts import Mode, QueryFacts
from streamgauge.jobfile import JobSpec
from streamgauge.workloads.ysb.parameters import Parameters

_NO_BATCHES = "it has no foreachBatch, which writes to Redis in batches"
_IN_PARTS = (
    "it has no aggregation, and the parts of a window that its tasks count"
    " can be added up only in Redis: use ysb/redis"
)

LEAST_VIEWS = 10
"""Of a campaign in each window and partition, where its next view closes a window."""
OUT_OF_STEP_MS = 1_000
"""Partitions may be this far apart; windows wait for it: the watermark is the foremost's."""


def _unfit(job: JobSpec, mode: Mode) -> str | None:
    """Return what keeps views from closing windows."""
    if mode != "realtime":
        return None
    parameters = Parameters.model_validate(job.parameters)
    if not parameters.cache:
        return "it cannot run Python, which would ask Redis for each event; it reads the ads once"
    if parameters.skew:
        return "a window is closed by the campaign's next view, after which none may be late"
    views = parameters.views_per_campaign(job.least_rate)
    if views < LEAST_VIEWS:
        return (
            "a window is closed by the campaign's next view in every partition, and of about"
            f" {views:.1f} views in a window and partition (at least {LEAST_VIEWS} are needed)"
            " the first may come too late"
        )
    return None


FACTS: Mapping[str, QueryFacts] = {
    "redis": QueryFacts(
        default="microbatch",
        refused={"realtime": _NO_BATCHES},
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
    "topic": QueryFacts(
        default="microbatch",
        refused={"continuous": _IN_PARTS},
        closed_by_records=frozenset({"realtime"}),
        unfit=_unfit,
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
}
