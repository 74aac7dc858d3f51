"""The harness's own ceiling: the highest rate at which reading and dropping keeps up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streamgauge.measure.verdicts import NOT_KEPT_EXIT_CODE
from streamgauge.spec.experiment import NoParameters
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Model, TrialResult, TrialSpec

STEP_S = 20.0
WARMUP_S = 10.0
FIRST_RATE = 10_000.0
HIGHEST_RATE = 10_000_000.0


class HarnessCeiling(Model):
    """How much the harness itself takes on this machine."""

    ceiling: float | None
    """The highest rate per input stream that held; None where none did."""
    limit: str | None
    """Why the next rate did not hold; None where every rate that was tried held."""


class Ceiling:
    """Double the rate until `noop` does not keep up, or the sender misses its schedule."""

    name: ClassVar[str] = "ceiling"
    title: ClassVar[str] = "how many records a second can sender, broker and reader take here?"
    engine: ClassVar[str] = "noop"
    parameters: ClassVar[type[NoParameters]] = NoParameters
    answers: ClassVar[type[HarnessCeiling]] = HarnessCeiling

    def __init__(self, run: RunSpec) -> None:
        given = run.origins
        self._first = run.trial(
            1,
            run.queries[0],
            run.rates[0] if "rates" in given else FIRST_RATE,
            shape=None,
            duration_s=run.duration_s if "duration" in given else STEP_S,
            warmup_s=run.warmup_s if "warmup" in given else WARMUP_S,
        )

    def plan(self) -> Sequence[TrialSpec]:
        """Return the first step; the others depend on its result."""
        return [self._first]

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return a step at twice the rate as long as the last one held."""
        if not history:
            return self._first
        last = history[-1]
        rate = 2 * last.spec.rate
        if not held(last) or rate > HIGHEST_RATE:
            return None
        return self._first.model_copy(update={"number": last.spec.number + 1, "rate": rate})

    def answer(self, history: Sequence[TrialResult]) -> HarnessCeiling:
        """Return the highest rate that held, and why the next did not."""
        failed = [result for result in history if not held(result)]
        limit = _reason(failed[0]) if failed else None
        return HarnessCeiling(ceiling=self.ceiling(history), limit=limit)

    def ceiling(self, history: Sequence[TrialResult]) -> float | None:
        """Return the highest rate that held."""
        return max((result.spec.rate for result in history if held(result)), default=None)

    def exit_code(self, history: Sequence[TrialResult]) -> int:
        """Return 0 when a rate held: the last one is expected to fail."""
        return NOT_KEPT_EXIT_CODE if self.ceiling(history) is None else 0


def held(result: TrialResult) -> bool:
    """Return whether the sender kept its schedule and the reader kept up."""
    return result.valid.holds is True and result.kept_up.holds is True


def _reason(result: TrialResult) -> str:
    return result.kept_up.reason if result.valid.holds else result.valid.reason
