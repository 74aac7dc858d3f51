"""What the trials of a search show: how fast a backlog was worked off, and the conclusion."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.errors import Unmeasured
from streamgauge.experiments.search import Found, Role
from streamgauge.experiments.search_answer import SearchTrial
from streamgauge.measure.catch_up import LEAST_S
from streamgauge.measure.sustained import decide, grew
from streamgauge.measure.verdicts import NOT_KEPT_EXIT_CODE
from streamgauge.spec.experiment import Interval
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_rate


def catch_up_rate(guesses: Sequence[TrialResult]) -> float | None:
    """Return the rate that the guesses show, per input stream as all rates are.

    It is taken from how much longer the engine was busy with the greater backlog, which excludes
    its start. If that was hardly longer, the shortest time that can be measured is used.
    """
    known = [(_backlog(guess), caught_up_s(guess)) for guess in guesses if caught_up_s(guess)]
    if not known:
        return None
    (less, shorter_s), (more, longer_s) = [(0.0, 0.0), *known][-2:]
    return (more - less) / max(longer_s - shorter_s, LEAST_S)


def _backlog(guess: TrialResult) -> float:
    """Return the records of each stream in the backlog."""
    return guess.spec.rate * guess.spec.duration_s


def caught_up_s(guess: TrialResult) -> float:
    """Return how long the engine was busy with a backlog; 0 when it did not get through."""
    if "rate.catch_up" not in guess.metrics:
        return 0.0
    return guess.metrics["rate.offered"] * guess.spec.duration_s / guess.metrics["rate.catch_up"]


def is_spoiled(guess: TrialResult) -> bool:
    """Return whether something outside the engine kept a guess from giving a rate."""
    return guess.status == "invalid" and caught_up_s(guess) == 0


def told(result: TrialResult, role: Role) -> SearchTrial:
    """Return what a trial was for and how it was decided."""
    decision = decide(result)
    return SearchTrial(
        trial=result.spec.number,
        role=role,
        rate=result.spec.rate,
        outcome=decision.outcome,
        reason=decision.reason,
    )


def told_of_guess(guesses: Sequence[TrialResult]) -> SearchTrial:
    """Return what the last of some guesses says, together with those before it."""
    guess = guesses[-1]
    rate = catch_up_rate(guesses) if caught_up_s(guess) else None
    reason = f"caught up at {format_rate(rate)}" if rate else (guess.cause or "it gave no rate")
    return SearchTrial(
        trial=guess.spec.number,
        role="guess",
        rate=guess.spec.rate,
        outcome=None,
        reason=reason.partition("\n")[0],
    )


def by_growth(results: Sequence[TrialResult]) -> Interval:
    """Return the highest rate that made neither backlog nor latency grow, and the lowest that did.

    A rate at which one of several trials grew counts as one that did.
    """
    over = min((each.spec.rate for each in results if grew(each)), default=None)
    held = [
        each.spec.rate
        for each in results
        if grew(each) is False and (over is None or each.spec.rate < over)
    ]
    return max(held, default=None), over


def in_growth(interval: Interval) -> str:
    """Say what a search found by growth alone, where it found anything."""
    held, over = interval
    if held is None:
        return f"by growth alone, as published: below {format_rate(over or 0.0)}"
    above = f"; {format_rate(over)} grew" if over else "; none tried grew"
    return f"by growth alone, as published: {format_rate(held)}{above}"


def conclusion(found: Found | None, confirmations: int) -> str:
    """Say how a search ended."""
    if found is None:
        return "not known yet: the search is not over"
    low, high = found.interval
    if found.rate is None:
        if low is not None:
            return f"not settled: {format_rate(low)} held, but not every time"
        if found.limit == "harness":
            return "not known: the harness was the limit at every rate"
        return f"no rate passes, down to {format_rate(high or 0.0)}"
    held = f"{format_rate(found.rate)} sustained, confirmed {confirmations} of {confirmations}"
    if high is None:
        return f"at least {held}: no higher rate was allowed"
    if found.limit == "harness":
        return f"at least {held}; at {format_rate(high)} the harness was the limit"
    return f"{held}; {format_rate(high)} is not"


def exit_code_of(found: Found) -> int:
    """Return 0 when found, 1 when no rate passes, 4 at the harness's limit."""
    if found.limit == "harness":
        return Unmeasured.exit_code
    return NOT_KEPT_EXIT_CODE if found.rate is None else 0
