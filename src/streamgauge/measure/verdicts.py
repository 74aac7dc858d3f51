"""Decide what a trial shows, with the reason: was it valid and correct, did the engine keep up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from streamgauge.errors import Interrupted, Unmeasured
from streamgauge.measure.behind import last_third
from streamgauge.measure.statistics import Floats, percentile
from streamgauge.measure.trend import LIMIT, Trend, in_words
from streamgauge.objectives import Objective
from streamgauge.spec.trial import Counts, LoadSpec, TrialResult, Verdict
from streamgauge.units import format_duration, format_rate

CLOCK_BOUND_S = 0.005
"""How far clocks may move in a trial, or stand apart, before its times mean nothing."""
FEWEST_OUTPUTS = 30
MOST_UNCLOSED = 0.01
"""Share of the windows that a load may leave open, where records close them."""
BEHIND_BOUND_S = 10.0
NOT_KEPT_EXIT_CODE = 1
_WORST_FIRST = (130, 70, 4, 3, 2, 1, 0)


@dataclass(frozen=True)
class LoadFacts:
    """What is known about the load when a trial is over."""

    due: int
    """Records that were due by the schedule."""
    sent: int
    """Records that were acknowledged; with acks=0 handed over, or appended where that was seen."""
    lateness_p99_s: float | None
    """Of append − intended, over all records; None when the inputs could not be read back."""
    clock_moved_s: float
    """Change of realtime − monotonic during the trial."""
    clock_offset_s: float | None = None
    """Greatest offset to the clock of a remote service; None when all are on this machine."""
    errors: int = 0
    """Records that the producer gave up."""
    backpressure_s: float = 0.0
    """Time without room in the producer's buffer."""
    send_lateness_p99_s: float | None = None
    """Of sending − intended, over all records."""
    senders: int = 1
    handed_over: int | None = None
    """Records that left the sender, where `sent` is what the broker appended of them."""
    windows: int = 0
    """How many windows records had to close."""
    unclosed: int = 0
    """Those that nothing closed: a partition had no record in the next one."""


@dataclass(frozen=True)
class Drain:
    """How the wait for the last outputs ended."""

    drained: bool | None
    """None when the trial ended before the drain."""
    outstanding: int | None = None
    """Records or markers without an answer at the end, where that is known."""


def valid(load: LoadSpec, facts: LoadFacts, *, quick: bool = False) -> Verdict:
    """Decide whether sender, clocks and services allow a statement about the engine.

    A quick trial measures nothing, and a machine that is busy may delay its load.
    """
    evidence = {**asdict(facts), "min_sent": load.min_sent, "max_lateness_s": load.max_lateness_s}
    if reason := _clock_because(facts) or _gaps_because(facts):
        return Verdict(holds=False, reason=reason, evidence=evidence)
    if reason := _late_because(load, facts):
        return Verdict(holds=None if quick else False, reason=reason, evidence=evidence)
    if facts.lateness_p99_s is None:
        reason = "the inputs could not be read back, so their lateness is unknown"
        return Verdict(holds=None, reason=reason, evidence=evidence)
    reason = (
        f"the sender sent {_percent(facts.sent, facts.due)} of what was due,"
        f" 99 % of it at most {format_duration(facts.lateness_p99_s)} late{_apart(facts)}"
    )
    return Verdict(holds=True, reason=reason, evidence=evidence)


def steady(facts: LoadFacts) -> Verdict:
    """Decide whether the clocks allow a statement about the broker."""
    evidence = asdict(facts)
    if reason := _clock_because(facts):
        return Verdict(holds=False, reason=reason, evidence=evidence)
    reason = "the clock was steady and nothing died; the rate that was reached is the result"
    return Verdict(holds=True, reason=f"{reason}{_apart(facts)}", evidence=evidence)


def _clock_because(facts: LoadFacts) -> str | None:
    bound = format_duration(CLOCK_BOUND_S)
    if abs(facts.clock_moved_s) >= CLOCK_BOUND_S:
        return (
            f"the clock moved by {format_duration(facts.clock_moved_s)} during the trial"
            f" (less than {bound} is needed); repeat it when time synchronization has settled"
        )
    if facts.clock_offset_s is not None and abs(facts.clock_offset_s) >= CLOCK_BOUND_S:
        return (
            f"the clock of a remote service is {format_duration(abs(facts.clock_offset_s))} off"
            f" (less than {bound} is needed); synchronize the hosts"
        )
    return None


def _apart(facts: LoadFacts) -> str:
    if facts.clock_offset_s is None:
        return ""
    apart = format_duration(abs(facts.clock_offset_s))
    return f"; the services' clocks are at most {apart} off"


def _late_because(load: LoadSpec, facts: LoadFacts) -> str | None:
    if _short(load, facts):
        return (
            f"the sender sent {_percent(facts.sent, facts.due)} of what was due"
            f" (at least {100 * load.min_sent:g} % is needed); {_limit(load, facts)}"
        )
    if facts.lateness_p99_s is not None and facts.lateness_p99_s > load.max_lateness_s:
        return (
            f"1 % of the records came {format_duration(facts.lateness_p99_s)} late or more"
            f" (at most {format_duration(load.max_lateness_s)} is allowed);"
            f" {_limit(load, facts)}"
        )
    return None


def _gaps_because(facts: LoadFacts) -> str | None:
    if facts.unclosed <= MOST_UNCLOSED * facts.windows:
        return None
    return (
        f"the load had gaps: after {facts.unclosed:,} of {facts.windows:,} windows a partition"
        " had no record in the next one, so nothing closed them"
        f" (at most {100 * MOST_UNCLOSED:g} % is allowed); see whether the broker stalled, or use"
        " -E mode=microbatch"
    )


def _limit(load: LoadSpec, facts: LoadFacts) -> str:
    """Name the limit, the broker or the sender, and what to do."""
    if facts.errors:
        return (
            f"{facts.errors:,} records were given up without an acknowledgement:"
            " see the broker's log and its disk"
        )
    if facts.handed_over is not None and facts.handed_over >= load.min_sent * facts.due:
        return (
            f"{_percent(facts.handed_over, facts.due)} left the sender, so the rest was lost on"
            " the way: without acknowledgements nothing is sent again (-L acks=1)"
        )
    if facts.backpressure_s > load.max_lateness_s:
        return (
            f"the sender's buffer was full for {format_duration(facts.backpressure_s)}, so the"
            " broker was the limit: lower the rate, or raise --partitions, -L batch or -L linger"
        )
    sent_late_s = facts.send_lateness_p99_s
    if sent_late_s is not None and sent_late_s <= load.max_lateness_s and not _short(load, facts):
        return (
            f"99 % were sent at most {format_duration(sent_late_s)} late, so the broker was the"
            " limit: lower the rate or give the broker a core of its own"
        )
    return (
        "the sender was the limit: lower the rate, give it a core of its own"
        f" or share the load (-L senders={facts.senders + 1})"
    )


def _short(load: LoadSpec, facts: LoadFacts) -> bool:
    return bool(facts.due) and facts.sent / facts.due < load.min_sent


def took(load: LoadSpec, facts: LoadFacts) -> Verdict:
    """Decide whether the broker took the load that it was offered."""
    evidence = {**asdict(facts), "min_sent": load.min_sent}
    share = f"the broker took {_percent(facts.sent, facts.due)} of what was due"
    if _short(load, facts):
        return Verdict(holds=False, reason=f"{share}; {_limit(load, facts)}", evidence=evidence)
    late_s = facts.send_lateness_p99_s
    late = "" if late_s is None else f", 99 % of it sent at most {format_duration(late_s)} late"
    return Verdict(holds=True, reason=f"{share}{late}", evidence=evidence)


def correct(
    counts: Counts | None, drain: Drain, *, answers: bool = True, engine_died: bool = False
) -> Verdict:
    """Decide whether every output was right, and there exactly once.

    Args:
        counts: how outputs and answers compare; None when the topics could not be read back.
        drain: how the wait for the last outputs ended.
        answers: False for an engine that reads and drops.
        engine_died: whether the engine ended before it was asked to.
    """
    evidence = counts.model_dump() if counts else {}
    if reason := _untold_because(counts, answers=answers, engine_died=engine_died):
        return Verdict(holds=None, reason=reason, evidence=evidence)
    assert counts is not None
    faults = {
        kind: evidence[kind]
        for kind in ("wrong", "missing", "duplicate", "unexpected")
        if evidence[kind]
    }
    if not faults:
        reason = f"all {counts.expected:,} expected outputs are right, each exactly once"
        if counts.intermediate:
            reason += f", after {counts.intermediate:,} right intermediate ones"
        return Verdict(holds=True, reason=reason, evidence=evidence)
    if not drain.drained and set(faults) == {"missing"}:
        reason = (
            f"{counts.missing:,} of {counts.expected:,} expected outputs are missing,"
            " but the engine had not finished"
        )
        return Verdict(holds=None, reason=reason, evidence=evidence)
    found = ", ".join(f"{number:,} {kind}" for kind, number in faults.items())
    reason = f"of {counts.expected:,} expected and {counts.outputs:,} outputs: {found}"
    return Verdict(holds=False, reason=reason, evidence=evidence)


def _untold_because(counts: Counts | None, *, answers: bool, engine_died: bool) -> str | None:
    if not answers:
        return "this engine gives no answers"
    if engine_died:
        return "the engine died, so its outputs are incomplete"
    if counts is None:
        return "the topics could not be read back, so no output was compared"
    return None


def caught_up(drain: Drain, after_s: float | None, *, engine_died: bool = False) -> Verdict:
    """Decide whether the engine caught up with a backlog in the measured time."""
    if engine_died:
        return Verdict(holds=None, reason="the engine died before the end")
    evidence = {"caught_up_after_s": after_s}
    if after_s is None or not drain.drained:
        reason = "the engine did not catch up with the backlog in the measured time"
        return Verdict(holds=False, reason=reason, evidence=evidence)
    reason = f"the engine caught up with the backlog {format_duration(after_s)} after its start"
    return Verdict(holds=True, reason=reason, evidence=evidence)


def kept_up(
    drain: Drain,
    trend: Trend,
    behind_s: Floats,
    *,
    outputs: int,
    trigger_s: float | None = None,
    quick: bool = False,
    engine_died: bool = False,
) -> Verdict:
    """Decide whether the engine kept up with the load.

    Args:
        drain: how the wait for the last outputs ended.
        trend: of the latencies that count.
        behind_s: *behind* over the measured span.
        outputs: number of latencies that count.
        trigger_s: the requested trigger interval, None for as fast as possible.
        quick: whether this was no measurement.
        engine_died: whether the engine ended before it was asked to.
    """
    bound_s = behind_bound_s(trigger_s)
    p95_s = p95_of_last_third(behind_s)
    evidence = {
        **asdict(drain),
        "outputs": outputs,
        "trend": asdict(trend),
        "behind_p95_s": p95_s,
        "bound_s": bound_s,
    }
    early = _pace_without_measuring(drain, quick=quick, engine_died=engine_died)
    if early is None and outputs < FEWEST_OUTPUTS:
        early = (
            None,
            f"{outputs} outputs are too few to judge (at least {FEWEST_OUTPUTS} are needed)",
        )
    holds, reason = early or _pace(trend, p95_s, bound_s)
    return Verdict(holds=holds, reason=reason, evidence=evidence)


def kept_up_noop(
    drain: Drain,
    lag: Floats | None,
    total_rate: float,
    *,
    quick: bool = False,
    engine_died: bool = False,
) -> Verdict:
    """Decide whether an engine without outputs kept up, from its lag over the measured span.

    Args:
        drain: how the wait for the end of the inputs ended.
        lag: in records over all input streams; None when offsets were not reported in time.
        total_rate: records per second, over all input streams.
        quick: whether this was no measurement.
        engine_died: whether the engine ended before it was asked to.
    """
    p95_s = p95_of_last_third(lag / total_rate) if lag is not None else None
    evidence = {
        **asdict(drain),
        "total_rate": total_rate,
        "lag_p95_s": p95_s,
        "bound_s": BEHIND_BOUND_S,
    }
    early = _pace_without_measuring(drain, quick=quick, engine_died=engine_died)
    holds, reason = early or _pace_by_lag(p95_s, total_rate)
    return Verdict(holds=holds, reason=reason, evidence=evidence)


_Decided = tuple[bool | None, str]


def _pace_without_measuring(drain: Drain, *, quick: bool, engine_died: bool) -> _Decided | None:
    # A dead engine cannot drain: its death says more than that it did not finish.
    if engine_died:
        return None, "the engine died before its pace could be judged"
    if drain.drained is None:
        return None, "the trial ended before the engine could finish"
    if not drain.drained:
        left = "" if drain.outstanding is None else f", {drain.outstanding:,} outstanding"
        return False, f"not drained{left}: the engine did not finish in time"
    if quick:
        return None, "a quick trial is too short to judge the pace"
    return None


def _pace(trend: Trend, p95_s: float | None, bound_s: float) -> _Decided:
    limit = f"{LIMIT:g} s/s"
    if trend.decision == "trend":
        return False, f"the latency grew by {in_words(trend)}, which is more than {limit}"
    if p95_s is not None and p95_s > bound_s:
        return False, _behind("outputs were", p95_s, bound_s)
    if trend.decision == "undecided" or p95_s is None:
        how = "" if trend.slope is None else f": it changed by {in_words(trend)}"
        return None, f"it is unclear whether the latency grew by more than {limit}{how}"
    return True, (
        f"the latency did not grow by more than {limit} and outputs were at most"
        f" {format_duration(p95_s)} behind in 95 % of the last third"
    )


def _pace_by_lag(p95_s: float | None, total_rate: float) -> _Decided:
    if p95_s is None:
        return None, "the engine did not report its offsets often enough to judge its pace"
    if p95_s > BEHIND_BOUND_S:
        return False, _behind("the engine was", p95_s, BEHIND_BOUND_S)
    return True, (
        f"at {format_rate(total_rate)} the engine was at most {format_duration(p95_s)} behind"
        " in 95 % of the last third"
    )


def _behind(who: str, p95_s: float, bound_s: float) -> str:
    return (
        f"{who} {format_duration(p95_s)} behind or more in 5 % of the last third"
        f" (at most {format_duration(bound_s)} is allowed)"
    )


def p95_of_last_third(values: Floats) -> float | None:
    """Return the percentile that decides about a lag; None without any value."""
    return percentile(last_third(values), 950) if len(values) else None


def behind_bound_s(trigger_s: float | None) -> float:
    """Return how far behind an engine with such a trigger interval may be."""
    return max(BEHIND_BOUND_S, 3 * (trigger_s or 0.0))


def _percent(part: int, whole: int) -> str:
    """Write a share rounded down, so that what fell short never reads as reached."""
    return f"{(1000 * part // whole if whole else 1000) / 10:g} %"


def worst(codes: Iterable[int]) -> int:
    """Return the exit code that decides: 130 > 70 > 4 > 3 > 2 > 1 > 0."""
    return min(codes, key=_WORST_FIRST.index, default=0)


def exit_code(
    results: Sequence[TrialResult],
    interrupted: bool = False,
    objectives: Sequence[Objective] = (),
) -> int:
    """Return the exit code of a run at fixed rates; a verdict that is null never changes it."""
    codes = [_trial_code(result, objectives) for result in results]
    return worst([*codes, Interrupted.exit_code] if interrupted else codes)


def _trial_code(result: TrialResult, objectives: Sequence[Objective]) -> int:
    if result.status == "interrupted":
        return Interrupted.exit_code
    if result.status in ("failed", "invalid") or result.valid.holds is False:
        return Unmeasured.exit_code
    missed = any(not objective.check(result.metrics).met for objective in objectives)
    if missed or result.correct.holds is False or result.kept_up.holds is False:
        return NOT_KEPT_EXIT_CODE
    return 0
