"""Trials that ask the same, put together: repetitions give a median and a range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict

_OWN = {"number", "repeat"}
"""What sets the repeats of a trial apart."""


@dataclass(frozen=True)
class Repeats:
    """All trials of a run that ask the same; one, where nothing is repeated."""

    trials: tuple[TrialResult, ...]

    @property
    def spec(self) -> TrialSpec:
        """What was asked for, as the first of them has it."""
        return self.trials[0].spec

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self.trials) > 1

    @property
    def counted(self) -> tuple[TrialResult, ...]:
        """Those whose figures count; where all of them broke, the figures that there are."""
        return tuple(each for each in self.trials if each.status == "done") or self.trials

    def values(self, metric: str) -> list[float]:
        """Return what was measured, of the trials that count and have it."""
        return [each.metrics[metric] for each in self.counted if metric in each.metrics]

    def verdicts(self, choose: Callable[[TrialResult], Verdict]) -> list[bool | None]:
        """Return one verdict of all of them."""
        return [choose(each).holds for each in self.trials]


def repeats(results: Sequence[TrialResult]) -> list[Repeats]:
    """Put the trials that ask the same together, in the order of the first of them."""
    groups: dict[str, list[TrialResult]] = {}
    for result in results:
        groups.setdefault(result.spec.model_dump_json(exclude=_OWN), []).append(result)
    return [Repeats(tuple(group)) for group in groups.values()]
