"""How exact append times are: how many consecutive records share one, how wide the steps are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streamgauge.experiments.broker import WayToSend, way_to_send
from streamgauge.experiments.combinations import EveryCombination
from streamgauge.spec.trial import Model, TrialResult


class SharedTimes(WayToSend):
    """How one way to send shares append times, on average."""

    records: float
    """Consecutive records with the same append time."""
    step_s: float | None


class AppendTimes(Model):
    """How exact the append times are."""

    trials: int
    append_times: tuple[SharedTimes, ...]


class AppendTime(EveryCombination):
    """Every combination of rate and ways to send; then the append times are read back."""

    name: ClassVar[str] = "append-time"
    title: ClassVar[str] = "how many consecutive records share an append time?"
    engine: ClassVar[None] = None
    answers: ClassVar[type[AppendTimes]] = AppendTimes

    def answer(self, history: Sequence[TrialResult]) -> AppendTimes:
        """Return records per append time and step width of each combination, on average."""
        found = tuple(
            SharedTimes(
                **way_to_send(result.spec),
                records=result.metrics["append_run.mean"],
                step_s=result.metrics.get("append_step.mean"),
            )
            for result in history
            if "append_run.mean" in result.metrics
        )
        return AppendTimes(trials=len(self._trials), append_times=found)
