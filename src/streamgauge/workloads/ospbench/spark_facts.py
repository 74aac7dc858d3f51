"""How each stage may be run on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamgauge.engines.spark.facts import Mode, QueryFacts
from streamgauge.engines.spark.windows import facts
from streamgauge.jobfile import JobSpec
from streamgauge.measure.window_methods import Windowed
from streamgauge.workloads.ospbench.data import LANES
from streamgauge.workloads.ospbench.parameters import Parameters

_NO_UNION = "it has no union of two streams"
_NO_AGGREGATES = "continuous processing has no aggregation, only filters and projections"
_OPEN = (
    "it emits a second after every record, and never says which output is the last;"
    " stage5 and stage6 answer when all lanes are there"
)
_OPEN_WINDOWS = "it emits a window after every record, and never says which output is the last"

_JOINS = {"join": ("union", "native")}
_STATES = {"state": ("union", "custom")}
OUT_OF_STEP_MS = 2_000
"""Partitions and streams may be this far apart; the watermark is that of the foremost partition."""


def _unfit(job: JobSpec, mode: Mode) -> str | None:
    """Return why real-time mode cannot run a stage in the chosen way."""
    if mode == "realtime" and job.options.get("join") == "native":
        return "it has no join of two streams; join=union aggregates both as one"
    if mode == "realtime" and job.options.get("state") == "custom":
        return "it cannot run Python, in which that state is kept"
    return None


def _as_they_come() -> QueryFacts:
    """Return the facts of stages without state."""
    return QueryFacts(default="realtime", refused={"continuous": _NO_UNION}, asynchronous=True)


def _when_complete(options: Mapping[str, tuple[str, ...]], checkpoint_s: float) -> QueryFacts:
    """Return the facts of stages that emit what is complete, whatever the watermark says.

    In real-time mode the state of finished seconds is dropped only at checkpoints, so those
    come more often than elsewhere.
    """
    return QueryFacts(
        default="realtime",
        output_mode="update",
        refused={"continuous": _NO_AGGREGATES},
        unfit=_unfit,
        options=options,
        rocksdb={"state": "custom"} if "state" in options else {},
        appends={"join": "native", "state": "custom"},
        checkpoint_s=checkpoint_s,
        watermark_delay_ms=OUT_OF_STEP_MS,
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
    )


def _when_over(reason: str, **more: Any) -> QueryFacts:
    """Return the facts of stages that emit what the watermark has passed."""
    return QueryFacts(
        default="microbatch",
        refused={"realtime": reason, "continuous": _NO_AGGREGATES},
        watermark_delay_partitioned_ms=OUT_OF_STEP_MS,
        stateful=True,
        **more,
    )


def _windowed(job: JobSpec) -> Windowed:
    """Return the windows, and how many records a point has in a second: one of each lane."""
    windows = Parameters.model_validate(job.parameters).hopping
    return Windowed(windows, sum(LANES) / len(LANES), job.least_rate * job.partitions)


_WINDOWS = _when_over(
    _OPEN_WINDOWS,
    options=facts.OPTIONS,
    settled=facts.by_cost(_windowed),
    rocksdb=facts.ROCKSDB,
)


FACTS: Mapping[str, QueryFacts] = {
    "stage0": _as_they_come(),
    "stage1": _as_they_come(),
    "stage2": _when_complete(_JOINS, 60.0),
    "stage3": _when_over(_OPEN, options=_JOINS),
    "stage4": _when_over(_OPEN, options=_JOINS),
    "stage5": _when_complete(_STATES, 60.0),
    "stage6": _when_complete(_STATES, 30.0),
    "stage100": _WINDOWS,
    "stage101": _WINDOWS,
}
