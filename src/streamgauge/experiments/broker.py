"""How much the broker takes: target rates and ways to send, without engine or query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from streamgauge.experiments.combinations import EveryCombination
from streamgauge.spec.trial import Model, TrialResult, TrialSpec


class WayToSend(Model):
    """What distinguishes the trials of a study."""

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


class Broker(EveryCombination):
    """Every combination of rate, acks, batch, linger, senders, partitions and source, once."""

    name: ClassVar[str] = "broker"
    title: ClassVar[str] = "how many records a second does the broker take?"
    engine: ClassVar[None] = None
    answers: ClassVar[type[Intake]] = Intake

    def answer(self, history: Sequence[TrialResult]) -> Intake:
        """Return the rate that each combination reached, and the highest."""
        reached = tuple(
            Reached(**way_to_send(result.spec), reached=result.metrics["rate.appended"])
            for result in history
            if "rate.appended" in result.metrics
        )
        highest = max((result.metrics.get("rate.appended", 0.0) for result in history), default=0.0)
        return Intake(trials=len(self._trials), highest=highest, reached=reached)


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
