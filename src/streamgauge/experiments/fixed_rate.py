"""Each query at each rate, as often as asked: what ESPBench does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import ClassVar

from streamgauge.spec.experiment import NoParameters
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Model, TrialResult, TrialSpec


class Tally(Model):
    """How many trials were planned, and what came of them."""

    trials: int
    done: int
    correct: int
    kept_up: int
    """Of the valid ones, as the correct ones are."""


class FixedRate:
    """Constant rates, one trial after the other."""

    name: ClassVar[str] = "fixed-rate"
    title: ClassVar[str] = "is every answer right and does the engine keep up at these rates?"
    parameters: ClassVar[type[NoParameters]] = NoParameters
    answers: ClassVar[type[Tally]] = Tally

    def __init__(self, run: RunSpec) -> None:
        self._trials = _trials(run)

    def plan(self) -> Sequence[TrialSpec]:
        """Return all trials in their order."""
        return self._trials

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the first trial that has no result yet."""
        done = {result.spec.number for result in history}
        return next((trial for trial in self._trials if trial.number not in done), None)

    def why(self, trial: TrialSpec, history: Sequence[TrialResult]) -> str:  # noqa: ARG002
        """Tell what is new compared with the trial before."""
        before = next((each for each in self._trials if each.number == trial.number - 1), None)
        if before is None:
            return "the first of the plan"
        if trial.repeat > 1:
            return f"repetition {trial.repeat} of the same"
        if trial.rate != before.rate:
            return "the next rate"
        return "the next query at this rate"

    def answer(self, history: Sequence[TrialResult]) -> Tally:
        """Count the trials by what came of them; an invalid one says nothing of the engine."""
        valid = [result for result in history if result.valid.holds is True]
        return Tally(
            trials=len(self._trials),
            done=sum(result.status == "done" for result in history),
            correct=sum(result.correct.holds is True for result in valid),
            kept_up=sum(result.kept_up.holds is True for result in valid),
        )


def _trials(run: RunSpec) -> list[TrialSpec]:
    combinations = product(run.rates, run.queries, range(1, run.repeats + 1))
    return [
        run.trial(number, query, rate, repeat=repeat)
        for number, (rate, query, repeat) in enumerate(combinations, start=1)
    ]
