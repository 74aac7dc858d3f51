"""Each query at each rate, as often as asked: what ESPBench does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streamgauge.experiments.combinations import EveryCombination
from streamgauge.spec.trial import Model, TrialResult, TrialSpec


class Tally(Model):
    """How many trials were planned, and how they ended."""

    trials: int
    done: int
    correct: int
    kept_up: int
    """Of the valid ones, like `correct`."""


class FixedRate(EveryCombination):
    """Constant rates, one trial after the other."""

    name: ClassVar[str] = "fixed-rate"
    title: ClassVar[str] = "is every answer right and does the engine keep up at these rates?"
    answers: ClassVar[type[Tally]] = Tally

    def why(self, trial: TrialSpec, history: Sequence[TrialResult]) -> str:  # noqa: ARG002
        """Return what is new compared with the trial before."""
        before = next((each for each in self._trials if each.number == trial.number - 1), None)
        if before is None:
            return "the first of the plan"
        if trial.repeat > 1:
            return f"repetition {trial.repeat} of the same"
        if varied := _changed(trial, before):
            return f"now {varied}"
        if trial.rate != before.rate:
            return "the next rate"
        return "the next query at this rate"

    def answer(self, history: Sequence[TrialResult]) -> Tally:
        """Count the trials by how they ended; an invalid one says nothing about the engine."""
        valid = [result for result in history if result.valid.holds is True]
        return Tally(
            trials=len(self._trials),
            done=sum(result.status == "done" for result in history),
            correct=sum(result.correct.holds is True for result in valid),
            kept_up=sum(result.kept_up.holds is True for result in valid),
        )


def _changed(trial: TrialSpec, before: TrialSpec) -> str:
    """Name the varied values that differ from those of the trial before."""
    return ", ".join(
        f"{name}={value}"
        for name, value in trial.factors.items()
        if before.factors.get(name) != value
    )
