"""How much the broker takes: target rates and ways to send, without engine or query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import ClassVar

from streamgauge.spec.run import RunSpec, Variant
from streamgauge.spec.trial import NO_ENGINE, TrialResult, TrialSpec
from streamgauge.spec.values import Json


class Broker:
    """Every combination of rate, acks, batch, linger, senders, partitions and source, once."""

    name: ClassVar[str] = "broker"
    title: ClassVar[str] = "how many records a second does the broker take?"
    engine: ClassVar[str] = NO_ENGINE

    def __init__(self, run: RunSpec) -> None:
        self._trials = trials_without_engine(run)

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


def trials_without_engine(run: RunSpec) -> list[TrialSpec]:
    """Return a trial for each rate, combination of settings and repetition."""
    variants = run.variants or (Variant(load=run.load, partitions=run.partitions),)
    combinations = product(run.rates, variants, range(1, run.repeats + 1))
    return [
        run.trial(
            number,
            run.queries[0],
            rate,
            repeat=repeat,
            partitions=variant.partitions,
            load=variant.load,
        )
        for number, (rate, variant, repeat) in enumerate(combinations, start=1)
    ]


def first_without_result(
    trials: Sequence[TrialSpec], history: Sequence[TrialResult]
) -> TrialSpec | None:
    """Return the trial to go on with."""
    done = {result.spec.number for result in history}
    return next((trial for trial in trials if trial.number not in done), None)


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
