"""How each query may be run on Spark."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.engines.spark.facts import Mode, QueryFacts
from streamgauge.jobfile import JobSpec
from streamgauge.workloads.theodolite.parameters import Parameters

_NO_AGGREGATES = "continuous processing has no aggregation, only filters and projections"
_PER_RECORD = "it puts out a window after every record, and never says which output is the last"
_NO_BATCHES = "it has no foreachBatch, with which the workers write to the database in batches"
_NO_CHAIN = "it has no aggregation of what was aggregated before"
_PER_BATCH = "a batch puts out a window once, however many of its records it has seen"
_FINAL: Mapping[Mode, str] = {"realtime": _PER_RECORD, "continuous": _NO_AGGREGATES}
_CHAINED: Mapping[Mode, str] = {"realtime": _NO_CHAIN, "continuous": _NO_AGGREGATES}

OUT_OF_STEP_MS = 1_000
"""Partitions may be so far apart; windows wait for it, since the watermark is the foremost's."""
_BATCHES_PER_WINDOW = 4
_FEWEST_OFFSETS = 100


def _paced(job: JobSpec) -> Mapping[str, str]:
    """Let no batch be longer than a part of a window.

    A sum comes in again one window later; a batch that has read further has closed that window.
    """
    window_ms = Parameters.model_validate(job.parameters).window_ms("uc4")
    records = job.least_rate * job.partitions * window_ms / 1000
    most = max(_FEWEST_OFFSETS, int(records / _BATCHES_PER_WINDOW))
    return {"source.maxOffsetsPerTrigger": str(most)}


FACTS: Mapping[str, QueryFacts] = {
    "uc1-postgres": QueryFacts(
        default="microbatch", refused={"realtime": _NO_BATCHES, "continuous": _NO_BATCHES}
    ),
    "uc1-topic": QueryFacts(default="realtime", asynchronous=True),
    "uc2": QueryFacts(
        default="microbatch",
        refused=_FINAL,
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
    "uc3-final": QueryFacts(
        default="microbatch",
        refused=_FINAL,
        options={"windows": ("native", "sliced")},
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
    "uc3-update": QueryFacts(
        default="microbatch",
        output_mode="update",
        refused={
            "realtime": "it puts out a window after every record: use theodolite/uc3-every",
            "continuous": _NO_AGGREGATES,
        },
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
    "uc3-every": QueryFacts(
        default="realtime",
        refused={
            "microbatch": f"{_PER_BATCH}: use theodolite/uc3-update",
            "continuous": _NO_AGGREGATES,
        },
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
    "uc4-single": QueryFacts(
        default="microbatch",
        refused=_CHAINED,
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
    "uc4-feedback": QueryFacts(
        default="microbatch",
        refused=_CHAINED,
        needed=_paced,
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    ),
}
