"""How each of both queries may be run on Spark."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.engines.spark.facts import QueryFacts
from streamgauge.engines.spark.windows import facts
from streamgauge.jobfile import JobSpec
from streamgauge.measure.window_methods import Windowed
from streamgauge.workloads.rovio.parameters import Parameters

_NO_AGGREGATES = "continuous processing has no aggregation, only filters and projections"
_PER_RECORD = "it emits a window after every record, and never says which output is the last"
_NO_JOIN = "it has no join of two streams"


def _windowed(job: JobSpec) -> Windowed:
    """Return how many purchases come in a second, and how many of them of a gem pack."""
    parameters = Parameters.model_validate(job.parameters)
    packs = 1 if parameters.keys == "single" else parameters.packs
    rate = job.least_rate * job.partitions
    return Windowed(parameters.hopping, rate / packs, rate)


FACTS: Mapping[str, QueryFacts] = {
    "aggregation": QueryFacts(
        default="microbatch",
        refused={"realtime": _PER_RECORD, "continuous": _NO_AGGREGATES},
        options=facts.OPTIONS,
        settled=facts.by_cost(_windowed),
        rocksdb=facts.ROCKSDB,
        watermark_delay_partitioned_ms=100,
        stateful=True,
    ),
    "join": QueryFacts(
        default="microbatch",
        refused={"realtime": _NO_JOIN, "continuous": _NO_JOIN},
        watermark_delay_partitioned_ms=100,
        stateful=True,
        settings={
            "spark.driver.memory": "4g",
            # Lists of very many groups are put together in memory; by default Spark sorts them.
            "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(1 << 24),
        },
    ),
}
