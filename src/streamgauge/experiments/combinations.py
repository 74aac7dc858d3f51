"""The trials of an experiment that knows all of them beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import ClassVar

from streamgauge.spec.experiment import NoParameters
from streamgauge.spec.run import RunSpec, Variant
from streamgauge.spec.trial import TrialResult, TrialSpec


def every_combination(run: RunSpec) -> list[TrialSpec]:
    """Return a trial for each variant, rate, query and repetition; the last changes fastest."""
    trials: list[TrialSpec] = []
    for variant in run.variants or (Variant(),):
        rates = run.rates if variant.rate is None else (variant.rate,)
        for rate, query, repeat in product(rates, run.queries, range(1, run.repeats + 1)):
            number = len(trials) + 1
            trials.append(run.trial(number, query, rate, repeat=repeat, **variant.changes()))
    return trials


class EveryCombination:
    """An experiment that knows all of its trials beforehand; subclasses add the answer."""

    parameters: ClassVar[type[NoParameters]] = NoParameters
    every_combination: ClassVar[bool] = True

    def __init__(self, run: RunSpec) -> None:
        self._trials = every_combination(run)

    def plan(self) -> Sequence[TrialSpec]:
        """Return all trials in their order."""
        return self._trials

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the first trial that has no result yet."""
        done = {result.spec.number for result in history}
        return next((trial for trial in self._trials if trial.number not in done), None)
