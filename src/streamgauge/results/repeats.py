"""Trials that ask for the same, grouped: repeats give a median and a range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict

_OWN = {"number", "repeat"}
"""Fields in which the repeats of a trial differ."""


@dataclass(frozen=True)
class Repeats:
    """All trials of a run that ask for the same; only one if nothing is repeated."""

    trials: tuple[TrialResult, ...]

    @property
    def spec(self) -> TrialSpec:
        """What was asked for, from the first of them."""
        return self.trials[0].spec

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self.trials) > 1

    @property
    def counted(self) -> tuple[TrialResult, ...]:
        """The trials whose figures count: those that are done, or all if none is."""
        return tuple(each for each in self.trials if each.status == "done") or self.trials

    def values(self, metric: str) -> list[float]:
        """Return a metric of the trials that count and have it."""
        return [each.metrics[metric] for each in self.counted if metric in each.metrics]

    def verdicts(self, choose: Callable[[TrialResult], Verdict]) -> list[bool | None]:
        """Return one verdict of every trial."""
        return [choose(each).holds for each in self.trials]


def repeats(results: Sequence[TrialResult]) -> list[Repeats]:
    """Group the trials that ask for the same, in the order of the first of each group."""
    groups: dict[str, list[TrialResult]] = {}
    for result in results:
        groups.setdefault(result.spec.model_dump_json(exclude=_OWN), []).append(result)
    return [Repeats(tuple(group)) for group in groups.values()]
