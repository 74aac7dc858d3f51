"""How much the broker takes: target rates and ways to send, without engine or query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from streamgauge.experiments.combinations import every_combination, first_without_result
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import NO_ENGINE, TrialResult, TrialSpec
from streamgauge.spec.values import Json


class Broker:
    """Every combination of rate, acks, batch, linger, senders, partitions and source, once."""

    name: ClassVar[str] = "broker"
    title: ClassVar[str] = "how many records a second does the broker take?"
    engine: ClassVar[str] = NO_ENGINE

    def __init__(self, run: RunSpec) -> None:
        self._trials = every_combination(run)

    def plan(self) -> Sequence[TrialSpec]:
        """Return all trials in their order."""
        return self._trials

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the first trial that has no result yet."""
        return first_without_result(self._trials, history)

    def answer(self, history: Sequence[TrialResult]) -> Mapping[str, Json]:
        """Return the rate that each combination reached, and the highest."""
        reached: list[Json] = [
            {**settings(result.spec), "reached": result.metrics["rate.appended"]}
            for result in history
            if "rate.appended" in result.metrics
        ]
        highest = max((result.metrics.get("rate.appended", 0.0) for result in history), default=0.0)
        return {"trials": len(self._trials), "highest": highest, "reached": reached}


def settings(spec: TrialSpec) -> dict[str, Json]:
    """Return what tells the trials of such a run apart."""
    load = spec.load
    return {
        "trial": spec.number,
        "rate": spec.rate,
        "acks": load.acks,
        "batch": load.batch,
        "linger_s": load.linger_s,
        "senders": load.senders,
        "partitions": spec.partitions,
        "source": load.source,
    }
