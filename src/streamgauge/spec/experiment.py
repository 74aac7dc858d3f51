"""What an experiment promises: pure functions of the trials so far."""

from __future__ import annotations

from collections.abc import Sequence
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

    It is made with the `RunSpec`. What of it the experiment does not look at (further rates or
    queries, a load's shape) it has to refuse there, or it is lost without a word; --vary and
    --repeats are refused before, unless it `Sweeps`.
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

        Also asked of a run that was interrupted after some trials. A verdict that holds None was
        not judged, as `kept_up` in a quick run: that is not a No.
        """


@runtime_checkable
class Sweeps(Protocol):
    """Ability of an experiment: it makes a trial of every combination and repeat asked for."""

    every_combination: ClassVar[bool]
    """True."""


@runtime_checkable
class ChoosesEngine(Protocol):
    """Ability of an experiment: it chooses the engine of its trials, and looks at one query."""

    engine: ClassVar[str | None]
    """None for trials without an engine."""


@runtime_checkable
class Explains(Protocol):
    """Ability of an experiment: it tells why it wants a trial."""

    def why(self, trial: TrialSpec, history: Sequence[TrialResult]) -> str:
        """Give the reason in a few words."""


@runtime_checkable
class Concludes(Protocol):
    """Ability of an experiment: its answer alone decides how the run ended, not each trial.

    Objectives, which are bounds on trials, are refused then.
    """

    def exit_code(self, history: Sequence[TrialResult]) -> int:
        """Return the exit code of a run that was not interrupted.

        Wrong answers and failed trials count only if it says so: `measure.verdicts.exit_code`
        is that of trials on their own.
        """


@dataclass(frozen=True)
class Stage:
    """A part of an experiment whose trials depend on those before."""

    what: str
    trials: int
    """How many, if all goes well."""


@runtime_checkable
class Outlines(Protocol):
    """Ability of an experiment: it tells what it will do, where `plan` knows the first trials."""

    def outline(self) -> Sequence[Stage]:
        """Return what is done for each query."""


@runtime_checkable
class MayBeRough(Protocol):
    """Ability of an experiment: its parameters may make its answer a rough one."""

    def rough(self) -> str | None:
        """Say what the answer must not be taken for; None where there is nothing to say."""


@runtime_checkable
class NeedsTime(Protocol):
    """Ability of an experiment: its trials must not be shorter than this."""

    def least_times(self, trigger_s: float | None, window_ms: int | None) -> tuple[float, float]:
        """Return warm-up and duration in seconds.

        Args:
            trigger_s: the trigger interval that was asked for, None for as fast as possible.
            window_ms: the size of the query's time windows, if it has any.
        """


@runtime_checkable
class FindsCeiling(Protocol):
    """Ability of an experiment: it finds the harness's own ceiling, which later runs are told."""

    def ceiling(self, history: Sequence[TrialResult]) -> float | None:
        """Return the highest rate per input stream; None where no rate held."""


@dataclass(frozen=True)
class FoundByBoth:
    """A highest rate that two runs have looked for, with what each of them found."""

    query: str
    base: Interval
    other: Interval


@runtime_checkable
class ComparesAnswers(Protocol):
    """Ability of an experiment: two of its answers can be set against each other."""

    @staticmethod
    def compare(base: Any, other: Any) -> Sequence[FoundByBoth]:
        """Return what both found; each is one of the experiment's `answers`."""
