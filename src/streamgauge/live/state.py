"""What the live views show of a run: a pure function of its events, one after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from streamgauge.spec.progress import TIMELY_S

Event = Mapping[str, object]


@dataclass(frozen=True)
class Kind:
    """What a trial asks for, and why it runs now."""

    query: str
    rate: float | None
    repeat: float | None
    why: str | None


@dataclass(frozen=True)
class LiveTrial:
    """The trial that is under way, or the last one."""

    number: int
    planned: int
    """Trials that are known in advance, this one included."""
    kind: Kind
    next: Kind | None
    phases: tuple[str, ...] = ()
    """All phases of the trial, in their order."""
    phase: str | None = None
    phase_at: float | None = None
    lasts_s: float | None = None
    """How long the phase will take, if that is planned."""
    over: bool = False


@dataclass(frozen=True)
class Ended:
    """A trial that is over, with its verdicts: true, false or unknown."""

    number: int
    kind: Kind
    status: str
    valid: bool | None
    correct: bool | None
    kept_up: bool | None
    reason: str | None
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Sample:
    """One second of a trial; rates are per second since the previous sample."""

    at: float
    phase: str | None
    offered: float | None
    sent: float | None
    appended: float | None
    finished: float | None
    """Since the engine's previous report; None when it has not reported since the last sample."""
    lag: float | None
    """Records; None where the engine reports no offsets, or too rarely."""
    newest_latency: float | None
    """Of the newest output: one sample, not a statistic."""
    cpu: Mapping[str, float]
    """Cores by role."""
    memory: Mapping[str, float]
    """Bytes by role."""
    load: float | None


@dataclass(frozen=True)
class Counters:
    """The counters of a trial, as they were last seen."""

    at: float = -math.inf
    due: float | None = None
    sent: float | None = None
    log_end: float | None = None
    finished: float | None = None
    reported_at: float | None = None
    """When the engine last reported something new under load."""
    timely: bool = False
    """Whether that came soon enough after the previous report."""


@dataclass(frozen=True)
class State:
    """What the events of a run say about it."""

    begun: int = 0
    """Trials that have begun; one that was interrupted begins again."""
    trial: LiveTrial | None = None
    sample: Sample | None = None
    """The newest sample of this trial."""
    ended: tuple[Ended, ...] = ()
    counters: Counters = Counters()


def fold(state: State, event: Event) -> State:
    """Take in one event; a malformed one changes nothing."""
    number = _number(event.get("trial"))
    if number is None:
        return state
    if "status" in event:
        ended = (*state.ended, _ended(int(number), event))
        return replace(state, trial=_over(state.trial), ended=ended)
    if "planned" in event:
        trial = _begun(int(number), event)
        return State(begun=state.begun + 1, trial=trial, ended=state.ended)
    if state.trial is None or state.trial.number != number:
        return state
    return _phase(state, state.trial, event) if "phase" in event else _sampled(state, event)


def finished_rates(samples: Sequence[Sample]) -> list[float | None]:
    """Return the last rate at which the engine finished records, unless it is too old."""
    rates: list[float | None] = []
    reported: Sample | None = None
    for sample in samples:
        if sample.finished is not None:
            reported = sample
        elif reported is not None and sample.at - reported.at > TIMELY_S:
            reported = None
        rates.append(reported.finished if reported is not None else None)
    return rates


def _begun(number: int, event: Event) -> LiveTrial:
    following, phases = event.get("next"), event.get("phases")
    return LiveTrial(
        number=number,
        planned=int(_number(event["planned"]) or 0),
        kind=_kind(event),
        next=_kind(following) if isinstance(following, Mapping) else None,
        phases=tuple(map(str, phases)) if isinstance(phases, list) else (),
    )


def _ended(number: int, event: Event) -> Ended:
    metrics = event.get("metrics")
    return Ended(
        number=number,
        kind=_kind(event),
        status=str(event["status"]),
        valid=_verdict(event.get("valid")),
        correct=_verdict(event.get("correct")),
        kept_up=_verdict(event.get("kept_up")),
        reason=_text(event.get("reason")),
        metrics=_numbers(metrics if isinstance(metrics, Mapping) else {}),
    )


def _over(trial: LiveTrial | None) -> LiveTrial | None:
    return trial and replace(trial, phase=None, phase_at=None, lasts_s=None, over=True)


def _kind(event: Event) -> Kind:
    return Kind(
        query=_text(event.get("query")) or "",
        rate=_number(event.get("rate")),
        repeat=_number(event.get("repeat")),
        why=_text(event.get("why")),
    )


def _phase(state: State, trial: LiveTrial, event: Event) -> State:
    entered = replace(
        trial,
        phase=_text(event["phase"]),
        phase_at=_number(event.get("at")),
        lasts_s=_number(event.get("lasts_s")),
    )
    return replace(state, trial=entered)


def _sampled(state: State, event: Event) -> State:
    at = _number(event.get("at"))
    last = state.counters
    if at is None or at <= last.at:
        return state
    now = _counters(event, at, last)
    passed_s = at - last.at
    sample = Sample(
        at=at,
        phase=state.trial.phase if state.trial else None,
        offered=_rate(now.due, last.due, passed_s),
        sent=_rate(now.sent, last.sent, passed_s),
        appended=_rate(now.log_end, last.log_end, passed_s),
        finished=_finished(now, last),
        lag=_lag(now),
        newest_latency=_number(event.get("newest_latency")),
        cpu=_family(event, "cpu"),
        memory=_family(event, "memory"),
        load=_number(event.get("load.1m")),
    )
    return replace(state, sample=sample, counters=now)


def _counters(event: Event, at: float, last: Counters) -> Counters:
    now = Counters(
        at=at,
        due=_number(event.get("due")),
        sent=_number(event.get("sent")),
        log_end=_number(event.get("log_end")),
        finished=_number(event.get("finished")),
        reported_at=last.reported_at,
        timely=last.timely,
    )
    # Before the load there are only markers, which say nothing about how often an engine reports.
    if not now.sent or now.finished is None or now.finished == last.finished:
        return now
    before = last.reported_at
    return replace(now, reported_at=at, timely=before is not None and at - before <= TIMELY_S)


def _rate(now: float | None, last: float | None, passed_s: float) -> float | None:
    if now is None or last is None:
        return None
    return max(0.0, (now - last) / passed_s)


def _finished(now: Counters, last: Counters) -> float | None:
    """Return the rate since the previous report: an engine may report only every few seconds."""
    if last.reported_at is None or now.reported_at == last.reported_at:
        return None
    return _rate(now.finished, last.finished, now.at - last.reported_at)


def _lag(now: Counters) -> float | None:
    """Return the distance to the log's end; it keeps growing if a timely engine stops reporting."""
    if not now.timely or now.log_end is None or now.finished is None:
        return None
    return max(0.0, now.log_end - now.finished)


def _family(event: Event, family: str) -> dict[str, float]:
    prefix = f"{family}."
    found = {name.removeprefix(prefix): event[name] for name in event if name.startswith(prefix)}
    return _numbers(found)


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    found = {str(name): _number(value) for name, value in values.items()}
    return {name: value for name, value in found.items() if value is not None}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _verdict(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
