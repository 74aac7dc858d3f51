"""The trials of an experiment that knows all of them beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

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


def first_without_result(
    trials: Sequence[TrialSpec], history: Sequence[TrialResult]
) -> TrialSpec | None:
    """Return the trial to go on with."""
    done = {result.spec.number for result in history}
    return next((trial for trial in trials if trial.number not in done), None)
