"""How much the broker takes: target rates and ways to send, without engine or query."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, ClassVar

from streamgauge.spec.experiment import NoParameters
from streamgauge.spec.run import RunSpec, Variant
from streamgauge.spec.trial import Model, TrialResult, TrialSpec


class WayToSend(Model):
    """What tells the trials of a study apart."""

    trial: int
    rate: float
    acks: str
    batch: int
    linger_s: float
    senders: int | None
    partitions: int
    source: str


class Reached(WayToSend):
    """The rate that one way to send reached."""

    reached: float


class Intake(Model):
    """What the broker took in."""

    trials: int
    highest: float
    reached: tuple[Reached, ...]


class Broker:
    """Every combination of rate, acks, batch, linger, senders, partitions and source, once."""

    name: ClassVar[str] = "broker"
    title: ClassVar[str] = "how many records a second does the broker take?"
    engine: ClassVar[None] = None
    parameters: ClassVar[type[NoParameters]] = NoParameters
    answers: ClassVar[type[Intake]] = Intake

    def __init__(self, run: RunSpec) -> None:
        self._trials = trials_without_engine(run)

    def plan(self) -> Sequence[TrialSpec]:
        """Return all trials in their order."""
        return self._trials

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the first trial that has no result yet."""
        return first_without_result(self._trials, history)

    def answer(self, history: Sequence[TrialResult]) -> Intake:
        """Return the rate that each combination reached, and the highest."""
        reached = tuple(
            Reached(**way_to_send(result.spec), reached=result.metrics["rate.appended"])
            for result in history
            if "rate.appended" in result.metrics
        )
        highest = max((result.metrics.get("rate.appended", 0.0) for result in history), default=0.0)
        return Intake(trials=len(self._trials), highest=highest, reached=reached)


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


def way_to_send(spec: TrialSpec) -> dict[str, Any]:
    """Return the fields of a trial's way to send."""
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
