"""Turns what is known of a trial into its result: metrics and verdicts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure import behind, latency, statistics, sustained, trend, verdicts
from streamgauge.measure.catch_up import (
    WorkedOff,
    catch_up_rate,
    caught_up_s,
    peak_rate,
    worked_off_between,
)
from streamgauge.measure.statistics import Floats, Integers
from streamgauge.probes.sampler import Row
from streamgauge.spec.query import Query
from streamgauge.spec.trial import Counts, LagTrend, Pace, TrialResult, Verdict
from streamgauge.spec.values import Span
from streamgauge.trial.batches import batch_metrics, largest_state
from streamgauge.trial.bench import TrialState
from streamgauge.trial.drain import still_s
from streamgauge.trial.lag import lag_trend
from streamgauge.units import format_duration, format_rate

if TYPE_CHECKING:
    from streamgauge.validation.validator import Validation


def result(state: TrialState, query: Query, *, answers: bool) -> TrialResult:
    """Conclude: all metrics that the trial carries, and its three verdicts."""
    spec, validation = state.spec, state.validation
    facts = _Facts(state, query)
    valid = facts.valid()
    kept_up = facts.kept_up(answers=answers)
    if valid.holds is False:
        kept_up = Verdict(holds=None, reason="an invalid trial does not judge the engine")
    status = state.status
    if status == "done" and valid.holds is False:
        status = "invalid"
    return TrialResult(
        spec=spec,
        status=status,
        cause=state.cause,
        valid=valid,
        correct=verdicts.correct(
            validation.counts if validation else None,
            state.drain,
            answers=answers,
            engine_died=state.status == "failed",
        ),
        kept_up=kept_up,
        pace=facts.pace(),
        lag=facts.lag_trend,
        cut_s=state.cut_s,
        inputs=validation.inputs if validation else 0,
        counts=validation.counts if validation else Counts(),
        metrics=facts.metrics(),
        warnings=state.warnings + _warnings(state) + facts.told_of_backlog(),
        started=state.started,
        phases=state.phases,
        measured_ms=(state.measured.start_ms, state.measured.end_ms) if state.measured else None,
        checkpoints_ms=state.checkpoints_ms,
        window_ms=query.window_ms,
        trigger_s=state.job.trigger_s,
        settings=dict(state.job.settings),
        instances=state.instances,
        clock_offsets_s=state.clock_offsets_s,
        topics=state.topics,
        sender=state.sender.model_dump() if state.sender else {},
    )


def _warnings(state: TrialState) -> list[str]:
    """List what a reader of the figures has to know."""
    found = []
    if state.sender is not None and (lost := state.sender.errors):
        found.append(f"{lost:,} records never reached the broker; the answers leave them out")
    if state.validation is not None and (swaps := state.validation.inversions):
        found.append(f"{swaps:,} times a record was appended after one that was sent later")
    if state.validation is not None and (lenient := state.validation.lenient):
        found.append(
            f"{lenient:,} answers are right with or without records that came too late for them"
        )
    validation = state.validation if state.job.closed_by_records else None
    if validation is not None and (unclosed := validation.optional):
        found.append(
            f"{unclosed:,} windows may lack their output: a partition had no record in the next"
            " one, so nothing closed them"
        )
    interval_s, spec = state.job.checkpoint_s, state.spec
    measured = state.validation is not None and not (spec.quick or spec.backlog)
    if interval_s and measured and not state.checkpoints_ms:
        found.append(
            f"no checkpoint (one every {format_duration(interval_s)}) lies in the measured span:"
            " the latencies do not include its gap"
        )
    return found


class _Facts:
    """The arrays behind metrics and verdicts; empty where the trial broke off before."""

    def __init__(self, state: TrialState, query: Query) -> None:
        self.state = state
        self.span = state.measured or Span(0, 0)
        self.streams = len(query.streams)
        self.windowed = query.window_ms is not None
        self.still_s = still_s(query, state.job.trigger_s)
        validation = state.validation
        self.all = validation.latencies if validation else None
        self.counted = (
            latency.measured(validation.latencies, self.span, query.window_ms)
            if validation
            else None
        )
        self.behind_s = behind.behind(self.all, self.span) if self.all is not None else np.array([])
        self.lag = _lag(state.timeline, self.span)
        self.lag_trend = self._lag_trend()
        self.lateness_s, self.late_records = _lateness(validation, self.span)

    def valid(self) -> Verdict:
        """Judge the load; a trial that broke off is judged by its cause."""
        cause = (self.state.cause or "").partition("\n")[0]
        if self.state.status == "invalid":
            return Verdict(holds=False, reason=cause)
        if self.state.status == "failed":
            return Verdict(holds=None, reason="the trial broke off before the load could be judged")
        spec = self.state.spec
        if spec.backlog:
            return Verdict(holds=None, reason="a backlog has no schedule to keep")
        return verdicts.valid(spec.load, self._load_facts(), quick=spec.quick)

    def _load_facts(self) -> verdicts.LoadFacts:
        sender = self.state.sender
        p99 = statistics.summarize(self.lateness_s, self.late_records).get("p99")
        if p99 is None and len(self.lateness_s):
            p99 = float(self.lateness_s.max())
        return verdicts.LoadFacts(
            due=sender.due if sender else 0,
            sent=sender.acknowledged if sender else 0,
            lateness_p99_s=p99,
            clock_moved_s=self.state.clock_moved_s,
            clock_offset_s=self.state.clock_offset_s,
            errors=sender.errors if sender else 0,
            backpressure_s=sender.backpressure_s if sender else 0.0,
            send_lateness_p99_s=sender.send_lateness.get("p99") if sender else None,
            senders=sender.senders if sender else 1,
            **self._windows(),
        )

    def _windows(self) -> dict[str, int]:
        """Count the windows that records had to close, and those that none closed."""
        validation = self.state.validation
        if validation is None or not self.state.job.closed_by_records:
            return {}
        return {"windows": validation.counts.expected, "unclosed": validation.optional}

    def kept_up(self, *, answers: bool) -> Verdict:
        spec = self.state.spec
        died = self.state.status == "failed"
        if spec.backlog:
            return Verdict(holds=None, reason="a backlog has no rate to keep up with")
        if self.state.cut_s is not None:
            return Verdict(holds=False, reason=self._cut())
        if not answers:
            return verdicts.kept_up_noop(
                self.state.drain,
                self.lag,
                spec.rate * self.streams,
                quick=spec.quick,
                engine_died=died,
            )
        if self.state.spec.gathers:
            after_s = caught_up_s(self.behind_s)
            return verdicts.caught_up(self.state.drain, after_s, engine_died=died)
        values_s, at_ms = np.array([]), np.array([], dtype=np.int64)
        if self.counted is not None:
            values_s = latency.seconds(self.counted)["latency"]
            at_ms = self.counted["intended"].to_numpy()
        return verdicts.kept_up(
            self.state.drain,
            trend.trend(at_ms, values_s, self.span),
            self.behind_s,
            outputs=len(values_s),
            trigger_s=self.state.job.trigger_s,
            quick=spec.quick,
            engine_died=died,
        )

    def pace(self) -> Pace | None:
        """Return what a search decides by; None when nothing was measured."""
        state = self.state
        if self.counted is None or state.measured is None or self.state.spec.gathers:
            return None
        drain_s = max(0.0, state.phases.get("drain", 0.0) - self.still_s)
        return sustained.pace(
            self.span,
            _looks(state.timeline, self.span, self.lag),
            sustained.Outputs(
                self.behind_s,
                self.counted["intended"].to_numpy(),
                latency.seconds(self.counted)["event_latency"],
            ),
            total_rate=state.spec.rate * self.streams,
            trigger_s=state.job.trigger_s,
            drain_s=drain_s if state.drain.drained else None,
        )

    def _cut(self) -> str:
        grew = "" if self.lag_trend is None else f" by {format_rate(self.lag_trend.slope)}"
        after = format_duration(self.state.cut_s or 0.0)
        return f"cut short after {after}: the lag clearly grew{grew}"

    def _lag_trend(self) -> LagTrend | None:
        spec = self.state.spec
        if self.counted is None or spec.backlog or spec.gathers:
            return None
        return lag_trend(
            self.state.timeline,
            self.all,
            self.span,
            spec.rate * self.streams,
            tells_offsets=self.state.job.checkpoint_s is None,
        )

    def _caught_up(self) -> dict[str, float]:
        """Return how fast a backlog was worked off, and how large a load it was."""
        rate = catch_up_rate(self._backlog())
        if rate is None:
            return {}
        offered = self.state.spec.rate * self.streams
        begin_s, end_s = worked_off_between(self._backlog())
        span = Span(round(begin_s * 1000), round(end_s * 1000))
        return {"rate.offered": offered, "rate.catch_up": rate, **usage(self.state.timeline, span)}

    def _gathered(self) -> dict[str, float]:
        """Return when the engine had caught up with a backlog, and how fast it was at best."""
        found = {
            "catch_up.seconds": caught_up_s(self.behind_s),
            "rate.peak": peak_rate(self._backlog()),
        }
        return {name: value for name, value in found.items() if value is not None} | self._rates()

    def told_of_backlog(self) -> list[str]:
        """Describe in words what takes the place of latencies after a backlog."""
        found = self._gathered() if self.state.spec.gathers and self.counted is not None else {}
        if "catch_up.seconds" not in found:
            return []
        after = format_duration(found["catch_up.seconds"])
        peak = f", at best {format_rate(found['rate.peak'])}" if "rate.peak" in found else ""
        return [f"the engine had caught up with the backlog {after} after its start{peak}"]

    def _backlog(self) -> WorkedOff:
        state, sender = self.state, self.state.sender
        emitted = self.all["emitted"].to_numpy() if self.all is not None else np.array([])
        return WorkedOff(
            records=sender.acknowledged if sender else 0,
            started_s=state.timeline[0]["at"] if state.timeline else 0.0,
            finished=self._progress(),
            emitted_ms=emitted,
            drained=state.drain.drained is True,
            windowed=self.windowed,
        )

    def _progress(self) -> behind.Offsets:
        """Return what was finished when: at each end of a batch, or as sampled once a second.

        Batches that work off a backlog may be short.
        """
        batches = [each for each in self.state.batches if each.batch.records]
        if self.state.spec.backlog and batches and self.state.job.checkpoint_s is None:
            at_s = np.array([each.at for each in batches])
            return behind.Offsets(at_s, np.cumsum([each.batch.records for each in batches]))
        rows = [row for row in self.state.timeline if "finished" in row]
        finished = np.array([row["finished"] for row in rows]).astype(np.int64)
        return behind.Offsets(np.array([row["at"] for row in rows]), finished)

    def metrics(self) -> dict[str, float]:
        found: dict[str, float] = {}
        if self.state.spec.backlog:
            found |= self._caught_up()
        elif self.state.spec.gathers and self.counted is not None:
            found |= self._gathered()
        elif self.counted is not None:
            found |= latency.summarize(self.counted)
            found |= statistics.named("behind", self.behind_s)
            found |= self._rates()
        found |= statistics.named("lateness", self.lateness_s, self.late_records)
        if self.lag is not None:
            found |= statistics.named("lag", self.lag)
        if (line := self.lag_trend) is not None:
            found |= {"lag.trend": line.slope, "lag.sawtooth": line.sawtooth}
        if self.counted is not None:
            found |= self.state.spec.resources.sizes(len(os.sched_getaffinity(0)))
        if self.state.resolved is not None and self.state.job.checkpoint_s is None:
            found |= batch_metrics(self.state.batches, self.span)
        sender = self.state.sender
        if sender is not None:
            found |= {f"send_lateness.{name}": v for name, v in sender.send_lateness.items()}
        if self.state.validation is not None:
            found["validation.seconds"] = self.state.validation.seconds
        return found | largest_state(self.state.batches) | usage(self.state.timeline, self.span)

    def _rates(self) -> dict[str, float]:
        validation, spec, span_s = self.state.validation, self.state.spec, self.span.length_s
        assert validation is not None
        rates = {
            "rate.offered": spec.rate * self.streams,
            "rate.appended": _appended(validation.times, self.span) / span_s,
            "rate.emitted": _count(validation.latencies["emitted"], self.span) / span_s,
        }
        for metric, name in (("rate.sent", "sent"), ("rate.handed", "handed")):
            rows = inside(self.state.timeline, self.span, name)
            if len(rows) > 1:
                passed_s = rows[-1]["at"] - rows[0]["at"]
                rates[metric] = (rows[-1][name] - rows[0][name]) / passed_s
        return rates


def _count(times: pa.ChunkedArray, span: Span) -> int:
    inside = pc.and_(pc.greater_equal(times, span.start_ms), pc.less(times, span.end_ms))
    return int(pc.sum(inside).as_py() or 0)


def _appended(times: pa.Table, span: Span) -> int:
    at = pc.field("appended")
    inside = times.filter((at >= span.start_ms) & (at < span.end_ms))
    return int(pc.sum(inside["records"]).as_py() or 0)


def _lateness(validation: Validation | None, span: Span) -> tuple[Floats, Integers]:
    """Return append − intended in the measured span, in seconds, and how many records had it."""
    if validation is None:
        return np.array([]), np.array([], dtype=np.int64)
    appended, intended, records = (column.to_numpy() for column in validation.times.columns)
    inside = (intended >= span.start_ms) & (intended < span.end_ms)
    late_s: Floats = (appended[inside] - intended[inside]) / 1000.0
    return late_s, records[inside]


def _lag(timeline: list[Row], span: Span) -> Floats | None:
    known = [row for row in timeline if "log_end" in row and "finished" in row]
    if not known:
        return None
    at_s = np.array([row["at"] for row in known])
    ends = np.array([row["log_end"] for row in known])
    return behind.lag(at_s, ends, np.array([row["finished"] for row in known]), span)


def _looks(timeline: list[Row], span: Span, lag: Floats | None) -> sustained.Looks | None:
    """Return the looks at the log that `lag` is known for, with what was finished then."""
    if lag is None:
        return None
    known = [row for row in inside(timeline, span, "log_end") if "finished" in row]
    at_s = np.array([row["at"] for row in known])
    return sustained.Looks(at_s, lag, np.array([row["finished"] for row in known]))


def inside(timeline: list[Row], span: Span, name: str) -> list[Row]:
    """Return the samples of the measured span that have that value."""
    start_s, end_s = span.start_ms / 1000, span.end_ms / 1000
    return [row for row in timeline if name in row and start_s <= row["at"] < end_s]


def usage(timeline: list[Row], span: Span) -> dict[str, float]:
    """Return means over the measured span; for memory the maximum."""
    names = {name for row in timeline for name in row}
    found = {}
    for name in names:
        family = name.partition(".")[0]
        if family in {"cpu", "memory", "disk", "network", "packets", "load"}:
            values = [row[name] for row in inside(timeline, span, name)]
            if values:
                found[name] = max(values) if family == "memory" else float(np.mean(values))
    return found
