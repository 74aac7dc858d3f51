"""How each query may be run on Spark."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.engines.spark.facts import Mode, QueryFacts
from streamgauge.engines.spark.windows import facts
from streamgauge.jobfile import JobSpec
from streamgauge.measure.window_methods import Windowed
from streamgauge.workloads.theodolite.attributes import Attribute
from streamgauge.workloads.theodolite.parameters import Parameters

_NO_AGGREGATES = "continuous processing has no aggregation, only filters and projections"
_PER_RECORD = "it emits a window after every record, and never says which output is the last"
_NO_BATCHES = "it has no foreachBatch, with which the workers write to the database in batches"
_NO_CHAIN = "it cannot aggregate the result of an aggregation"
_PER_BATCH = "a batch emits a window once, however many of its records it has seen"
_PYTHON = "it cannot run Python, in which the state is kept"
_IN_UTC = "from which it takes hours and days; -P zone chooses theirs"
_FINAL: Mapping[Mode, str] = {"realtime": _PER_RECORD, "continuous": _NO_AGGREGATES}
_CHAINED: Mapping[Mode, str] = {"realtime": _NO_CHAIN, "continuous": _NO_AGGREGATES}

OUT_OF_STEP_MS = 1_000
"""Partitions may be this far apart; windows wait for it: the watermark is the foremost's."""
_FEWEST_OFFSETS = 100
"""Of a batch, so that the sums of a window come back in few batches."""


def _paced(job: JobSpec) -> Mapping[str, str]:
    """Let no batch be longer than a quarter of a window.

    A sum comes back one window later; a batch that has read further has closed that window.
    """
    return {"source.maxOffsetsPerTrigger": str(max(_FEWEST_OFFSETS, job.quarter_records))}


def _windowed(job: JobSpec) -> Windowed:
    """Return how many records come in a second, and how many of them have the same key.

    A key is a sensor with an attribute: one that changes within a slide makes several keys of it.
    """
    parameters = Parameters.model_validate(job.parameters)
    windows, attribute = parameters.hopping, Attribute.parse(parameters.attribute)
    rate = job.least_rate * job.partitions
    if parameters.sensors is None:
        of_sensor = 1 / (parameters.period or 1.0)
    else:
        of_sensor = rate / parameters.sensors
    keys = min(attribute.values, max(1.0, windows.slide_ms / attribute.step_ms))
    return Windowed(windows, of_sensor / keys, rate)


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
        options=facts.OPTIONS,
        settled=facts.by_cost(_windowed),
        rocksdb=facts.ROCKSDB,
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
        in_utc=_IN_UTC,
    ),
    "uc3-update": QueryFacts(
        default="microbatch",
        output_mode="update",
        refused={
            "realtime": "it emits a window after every record: use theodolite/uc3-every",
            "continuous": _NO_AGGREGATES,
        },
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
        in_utc=_IN_UTC,
    ),
    "uc3-every": QueryFacts(
        default="realtime",
        refused={
            "microbatch": f"{_PER_BATCH}: use theodolite/uc3-update",
            "continuous": _NO_AGGREGATES,
        },
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
        in_utc=_IN_UTC,
    ),
    "uc3-sliding": QueryFacts(
        default="microbatch",
        refused={"realtime": _PYTHON, "continuous": _NO_AGGREGATES},
        options={"state": ("custom",)},
        rocksdb={"state": "custom"},
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
        in_utc=_IN_UTC,
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
