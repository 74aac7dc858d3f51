"""What an experiment promises: pure functions of the trials so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel

from streamgauge.spec.trial import Model

if TYPE_CHECKING:
    from streamgauge.spec.run import RunSpec
    from streamgauge.spec.trial import TrialResult, TrialSpec

Interval = tuple[float | None, float | None]
"""The highest rate that held, and the lowest that did not."""


class NoParameters(Model):
    """The parameters of an experiment that has none."""


class Experiment(Protocol):
    """A question asked of the system: pure functions of the trials so far.

    It is made with the `RunSpec`. There it must refuse whatever it would ignore, such as
    further rates or queries, or a load's shape; --vary and --repeats are refused before, unless it
    `Sweeps`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """The question, for `streamgauge list`."""
    parameters: ClassVar[type[BaseModel]]
    """What can be chosen (-X); a run keeps it complete, as its `experiment_options`."""
    answers: ClassVar[type[BaseModel]]
    """What it concludes; a run keeps it, and reads it back by this model."""

    def __init__(self, run: RunSpec) -> None: ...

    def plan(self) -> Sequence[TrialSpec]:
        """Return the trials that are known beforehand."""

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the next trial, None when the answer is known."""

    def answer(self, history: Sequence[TrialResult]) -> BaseModel:
        """Conclude from the trials; returns one of `answers`.

        Also called for a run that was interrupted after some trials. A verdict of None was not
        judged, like `kept_up` in a quick run; it is not a failure.
        """


@runtime_checkable
class Sweeps(Protocol):
    """Ability of an experiment: it makes a trial of every combination and repeat asked for."""

    every_combination: ClassVar[bool]
    """True."""


@runtime_checkable
class SearchesGrid(Protocol):
    """Ability of an experiment: it searches among all combinations of some factors.

    These are the variants of its run. It decides by the run's objectives, over its repeats.
    """

    @staticmethod
    def axes(options: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
        """Return the values of each factor, as the experiment's parameters ask for them."""


@runtime_checkable
class ChoosesEngine(Protocol):
    """Ability of an experiment: it chooses the engine of its trials, and runs one query."""

    engine: ClassVar[str | None]
    """None for trials without an engine."""


@runtime_checkable
class Explains(Protocol):
    """Ability of an experiment: it gives a reason for each trial."""

    def why(self, trial: TrialSpec, history: Sequence[TrialResult]) -> str:
        """Give the reason in a few words."""


@runtime_checkable
class Concludes(Protocol):
    """Ability of an experiment: only its answer decides how the run ended, not each trial.

    Objectives, which are bounds on trials, are refused then.
    """

    def exit_code(self, history: Sequence[TrialResult]) -> int:
        """Return the exit code of a run that was not interrupted.

        Wrong answers and failed trials count only if it says so: `measure.verdicts.exit_code`
        gives that of the trials alone.
        """


@dataclass(frozen=True)
class Stage:
    """A part of an experiment whose trials depend on those before."""

    what: str
    trials: int
    """How many, if all goes well."""


@runtime_checkable
class Outlines(Protocol):
    """Ability of an experiment: it outlines its trials where `plan` knows only the first ones."""

    def outline(self) -> Sequence[Stage]:
        """Return what is done for each query."""


@runtime_checkable
class MayBeRough(Protocol):
    """Ability of an experiment: its parameters may make its answer a rough one."""

    def rough(self) -> str | None:
        """Return a warning for the reader of the answer; None where none is needed."""


@runtime_checkable
class NeedsTime(Protocol):
    """Ability of an experiment: its trials have a shortest time."""

    def least_times(self, trigger_s: float | None, window_ms: int | None) -> tuple[float, float]:
        """Return warm-up and duration in seconds.

        Args:
            trigger_s: the requested trigger interval, None for as fast as possible.
            window_ms: the size of the query's time windows, if it has any.
        """


@runtime_checkable
class FindsCeiling(Protocol):
    """Ability of an experiment: it finds the ceiling of the harness, which later runs use."""

    def ceiling(self, history: Sequence[TrialResult]) -> float | None:
        """Return the highest rate per input stream; None where no rate held."""


@dataclass(frozen=True)
class FoundByBoth:
    """The highest rate of one query, as each of two runs found it."""

    query: str
    base: Interval
    other: Interval


@runtime_checkable
class ComparesAnswers(Protocol):
    """Ability of an experiment: two of its answers can be compared."""

    @staticmethod
    def compare(base: Any, other: Any) -> Sequence[FoundByBoth]:
        """Return what both found; each is one of the experiment's `answers`."""
