"""Whether a rate is sustained: the facts of one trial, and the decision with its reason."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from streamgauge.measure.behind import grid
from streamgauge.measure.statistics import Floats
from streamgauge.measure.trend import FEWEST_BLOCKS, LIMIT, in_words, trend
from streamgauge.measure.verdicts import FEWEST_OUTPUTS, behind_bound_s, p95_of_last_third
from streamgauge.spec.trial import Growth, Pace, TrialResult
from streamgauge.units import format_duration

if TYPE_CHECKING:
    from streamgauge.spec.values import Json, Span

LEAST_CONSUMED = 0.98
"""Share of the offered rate that must be worked off."""
FEWEST_LOOKS = 30
"""A line through fewer, one a second, is off by more than that rule allows."""
LEAST_DRAIN_S = 30.0
"""What is left after the load may take this long, or twice the bound where that is longer."""

Outcome = Literal["pass", "fail", "invalid", "inconclusive"]


@dataclass(frozen=True)
class Looks:
    """What was seen of the engine's offsets in the measured span, over all input streams."""

    at_s: Floats
    """Epoch seconds."""
    lag: Floats
    finished: Floats


@dataclass(frozen=True)
class Outputs:
    """What was seen of the engine's outputs."""

    behind_s: Floats
    """*Behind* on the grid of the measured span."""
    intended_ms: npt.NDArray[np.int64]
    """Of the outputs that count."""
    event_latency_s: Floats


@dataclass(frozen=True)
class Decision:
    """What a trial says about its rate."""

    outcome: Outcome
    reason: str
    """One sentence for people."""
    evidence: dict[str, Json] = field(default_factory=dict)


def pace(
    span: Span,
    looks: Looks | None,
    outputs: Outputs,
    *,
    total_rate: float,
    trigger_s: float | None = None,
    drain_s: float | None = None,
) -> Pace:
    """Sum up how an engine held its pace.

    Args:
        span: the measured span.
        looks: None where the engine did not report its offsets in time.
        outputs: what came out.
        total_rate: records per second, over all input streams.
        trigger_s: the requested trigger interval, None for as fast as possible.
        drain_s: how long the engine took to come to the end, None when it did not.
    """
    if looks is not None:
        at_ms, behind_s = (looks.at_s * 1000).astype(np.int64), looks.lag / total_rate
    elif len(outputs.event_latency_s) >= FEWEST_OUTPUTS:
        at_ms, behind_s = grid(span), outputs.behind_s
    else:  # silence is no sign of being on time
        at_ms, behind_s = np.array([], dtype=np.int64), np.array([])
    return Pace(
        by="outputs" if looks is None else "offsets",
        consumed=_consumed(looks),
        behind_p95_s=p95_of_last_third(behind_s),
        bound_s=behind_bound_s(trigger_s),
        behind_growth=_growth(at_ms, behind_s, span),
        latency_growth=_growth(outputs.intended_ms, outputs.event_latency_s, span),
        drain_s=drain_s,
    )


def decide(result: TrialResult) -> Decision:
    """Decide whether the trial's rate was sustained: pass, fail, invalid or inconclusive.

    A clear failure takes precedence over an inconclusive check.
    """
    pace = result.pace
    evidence: dict[str, Json] = pace.model_dump() if pace else {}
    if result.status == "failed":
        return Decision("fail", (result.cause or "the engine died").partition("\n")[0], evidence)
    unjudged = result.valid.holds is None and result.spec.quick  # it measures nothing anyway
    if pace is None or not (result.valid.holds or unjudged):
        return Decision("invalid", result.valid.reason, evidence)
    if reason := _unsustained_because(pace, result):
        return Decision("fail", reason, evidence)
    if reason := _untold_because(pace, quick=result.spec.quick):
        return Decision("inconclusive", reason, evidence)
    return Decision("pass", _held(pace), evidence)


def grew(result: TrialResult) -> bool | None:
    """Return whether a trial's backlog or latency grew; None where that is unknown.

    Only this is what Karimov et al. call unsustainable: neither how far the engine was behind nor
    how long it took after the load counts.
    """
    pace = result.pace
    if pace is None or result.status != "done" or result.spec.quick:
        return None
    found = {growth.decision for growth in _growths(pace).values()}
    return True if "trend" in found else None if "undecided" in found else False


def _unsustained_because(pace: Pace, result: TrialResult) -> str | None:
    if pace.consumed is not None and pace.consumed < LEAST_CONSUMED:
        return (
            f"the engine worked off {100 * pace.consumed:.1f} % of the offered rate"
            f" (at least {100 * LEAST_CONSUMED:g} % is needed)"
        )
    if pace.behind_p95_s is not None and pace.behind_p95_s > pace.bound_s:
        return (
            f"it was {format_duration(pace.behind_p95_s)} behind or more in 5 % of the last third"
            f" (at most {format_duration(pace.bound_s)} is allowed)"
        )
    if not result.spec.quick and (reason := _grew(pace)):
        return reason
    limit_s = max(2 * pace.bound_s, LEAST_DRAIN_S)
    if pace.drain_s is None or pace.drain_s > limit_s:
        return f"it needed more than {format_duration(limit_s)} to finish after the load"
    return result.correct.reason if result.correct.holds is False else None


def _grew(pace: Pace) -> str | None:
    for name, growth in _growths(pace).items():
        if growth.decision == "trend":
            return f"{name} grew by {in_words(growth)}, which is more than {LIMIT:g} s/s"
    return None


def _untold_because(pace: Pace, *, quick: bool) -> str | None:
    if pace.behind_p95_s is None:
        return (
            "how far the engine was behind is unknown: its offsets were reported too rarely, and"
            " there are too few outputs"
        )
    if quick:
        return None
    if pace.by == "outputs" and pace.latency_growth.blocks < FEWEST_BLOCKS:
        return (
            "its offsets were reported too rarely, and there are too few outputs to see whether the"
            " engine fell further behind"
        )
    for name, growth in _growths(pace).items():
        if growth.decision == "undecided":
            how = "" if growth.slope is None else f": it changed by {in_words(growth)}"
            return f"it is unclear whether {name} grew by more than {LIMIT:g} s/s{how}"
    return None


def _growths(pace: Pace) -> dict[str, Growth]:
    """Return what must not grow; where too few blocks have outputs, only the backlog decides."""
    growths = {"the backlog": pace.behind_growth}
    if pace.latency_growth.blocks >= FEWEST_BLOCKS:
        growths["the latency"] = pace.latency_growth
    return growths


def _held(pace: Pace) -> str:
    assert pace.behind_p95_s is not None
    return f"at most {format_duration(pace.behind_p95_s)} behind in 95 % of the last third"


def _growth(at_ms: npt.NDArray[np.int64], values_s: Floats, span: Span) -> Growth:
    return Growth(**asdict(trend(at_ms, values_s, span)))


def _consumed(looks: Looks | None) -> float | None:
    """Fit lines to the finished and offered records: a count from first to last is off by a batch.

    Both are fitted alike, since a line weighs the middle of a load that fluctuates more.
    """
    if looks is None or len(looks.at_s) < FEWEST_LOOKS:
        return None
    after_s = looks.at_s - looks.at_s.mean()
    return float(after_s @ looks.finished / (after_s @ (looks.finished + looks.lag)))
