"""What an experiment promises: pure functions of the trials so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from streamgauge.spec.values import Json

if TYPE_CHECKING:
    from streamgauge.spec.trial import TrialResult, TrialSpec


class Experiment(Protocol):
    """A question asked of the system: pure functions of the trials so far."""

    name: ClassVar[str]

    def plan(self) -> Sequence[TrialSpec]:
        """Return the trials that are known beforehand."""

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the next trial, None when the answer is known."""

    def answer(self, history: Sequence[TrialResult]) -> Mapping[str, Json]:
        """Conclude from the trials."""


@runtime_checkable
class Explains(Protocol):
    """Ability of an experiment: it tells why it wants a trial."""

    def why(self, trial: TrialSpec, history: Sequence[TrialResult]) -> str:
        """Give the reason in a few words."""


@runtime_checkable
class Concludes(Protocol):
    """Ability of an experiment: its answer alone decides how the run ended, not each trial."""

    def exit_code(self, history: Sequence[TrialResult]) -> int:
        """Return the exit code of a run that was not interrupted."""


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
class NeedsTime(Protocol):
    """Ability of an experiment: its trials must not be shorter than this."""

    def least_times(self, trigger_s: float | None, window_ms: int | None) -> tuple[float, float]:
        """Return warm-up and duration in seconds.

        Args:
            trigger_s: the trigger interval that was asked for, None for as fast as possible.
            window_ms: the size of the query's time windows, if it has any.
        """
