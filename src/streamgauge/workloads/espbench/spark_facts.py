"""How each query of ESPBench may be run on Spark."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.engines.spark.facts import Mode, QueryFacts

_NO_AGGREGATES = "continuous processing has no aggregation, only filters and projections"
_NO_PYTHON = "it cannot run Python, which the outlier selection needs"
_MICROBATCH_WRITER: dict[Mode, str] = {
    "realtime": "it has no foreachBatch, which writes to the database in batches",
    "continuous": "it has no foreachBatch, which writes to the database in batches",
}

FACTS: Mapping[str, QueryFacts] = {
    "q1": QueryFacts(
        default="realtime",
        refused={"continuous": _NO_AGGREGATES},
        closed_by_records=frozenset({"realtime"}),
        watermark_delay_partitioned_ms=100,
        stateful=True,
    ),
    "q2": QueryFacts(
        default="microbatch",
        output_mode="update",
        refused={"realtime": _NO_PYTHON, "continuous": _NO_AGGREGATES},
        stateful=True,
    ),
    "q3": QueryFacts(default="realtime", asynchronous=True),
    "q4": QueryFacts(
        default="realtime",
        refused={"continuous": "it has no join, and would never read the table again"},
        # A downtime is written 10 s before it begins: interval and gap must stay below.
        checkpoint_s=8.0,
        asynchronous=True,
        jars=("postgres-jdbc",),
    ),
    "q5": QueryFacts(default="microbatch", refused=_MICROBATCH_WRITER),
    "identity": QueryFacts(default="realtime", asynchronous=True),
}
