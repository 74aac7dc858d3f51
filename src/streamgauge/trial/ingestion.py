"""A trial of the broker only: load without an engine, then a look at the append times.

prepare → start → warm-up → measure → run on → stop → read back
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.errors import NotReady
from streamgauge.load import arrivals
from streamgauge.load.senders import Senders
from streamgauge.load.settling import until_still
from streamgauge.measure import ingestion, statistics, verdicts
from streamgauge.measure.columns import RECORDS
from streamgauge.measure.messages import headers
from streamgauge.probes.sampler import Probe, Row, Sampler
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict
from streamgauge.spec.values import Span
from streamgauge.trial import record
from streamgauge.trial.bench import Announce, Bench
from streamgauge.trial.phases import SENDER_LIMIT_S, Trial
from streamgauge.trial.probes import trial_probes

READ_BACK = 200_000
"""Records whose append times are looked at."""
APPEND_TIMES = "append_times.parquet"
_FINISH_S = 60.0
_STILL_S = 0.5
_SETTLE_S = 10.0
_TIMES = pa.schema([("offset", pa.int64()), ("appended", pa.int64()), ("intended", pa.int64())])


class Ingestion(Trial):
    """One trial of the broker under way."""

    def __init__(self, spec: TrialSpec, bench: Bench, folder: Path, announce: Announce) -> None:
        super().__init__(spec, bench, folder, announce)
        self._times = _TIMES.empty_table()
        self._value_bytes = 0.0
        self._appended: int | None = None
        """Records of the load in the topics, counted where the broker acknowledges none."""

    def _endpoints(self) -> Endpoints:
        return replace(super()._endpoints(), output=None, services={})

    def _measure(self) -> None:
        with ExitStack() as stack:
            with self._phase("prepare"):
                self.channel.create(forgets=True)
                self._compare_clocks()
                sender = stack.enter_context(self._start_senders())
            with self._phase("start"):
                sender.ready(SENDER_LIMIT_S)
                markers = sender.markers()
            sampler = Sampler(self._load_probes(sender, stack))
            stack.callback(sampler.write, self.folder / "timeline.parquet")
            stack.enter_context(sampler)
            self.state.timeline = sampler.rows
            self._sampler = sampler
            self._run_load(sender)
            with self._phase("stop"):
                self.state.sender = sender.finish(_FINISH_S)
                self.watch.sender = None
                if self.spec.load.acks == "0":
                    self._appended = self._await_log_end() - len(markers)
                sampler.stop()
                self._compare_clocks()

    def _await_log_end(self) -> int:
        """Count all records in the topics, once no more of them arrive."""
        topics = self.endpoints.inputs.values()
        return until_still(
            lambda: sum(sum(self.channel.log_end(topic)) for topic in topics),
            still_s=_STILL_S,
            most_s=_SETTLE_S,
            sleep=self.bench.clock.sleep,
        )

    def _load_probes(self, sender: Senders, stack: ExitStack) -> dict[str, Probe]:
        roots = self.bench.processes()
        roots["sender"] = lambda: sender.pids
        probes = trial_probes(self.query, self.endpoints, self.channel, roots, dict, sender)
        try:
            probes["broker"] = stack.enter_context(self.transport.counters(self.endpoints))
        except NotReady as error:
            self.state.warnings.append(error.message)
        return probes

    def _validate(self) -> None:
        """Read consecutive records of a partition back, if possible from the middle."""
        with self._phase("read back"):
            records = self._read_middle()
            if len(records):
                values = records["value"].combine_chunks()
                form = self.query.form(next(iter(self.endpoints.inputs)))
                intended = pa.array(headers(values, form).intended)
                columns = [records["offset"], records["timestamp"], intended]
                self._times = self._measured_alone(pa.table(columns, schema=_TIMES))
                self._value_bytes = float(pc.mean(pc.binary_length(values)).as_py())
            if not len(self._times):
                self.state.warnings.append(
                    "append times are left out: no record of the measured time can be read back"
                )
            pq.write_table(self._times, self.folder / APPEND_TIMES, compression="zstd")

    def _measured_alone(self, times: pa.Table) -> pa.Table:
        """Leave out warm-up, tail and markers."""
        span = self.state.measured or Span(0, 0)
        intended = pc.field("intended")
        return times.filter((intended >= span.start_ms) & (intended < span.end_ms))

    def _read_middle(self) -> pa.Table:
        recorded = self.transport.read_back(self.spec, self.endpoints, self.folder, ())
        source = recorded.inputs[self.query.streams[0]]
        extents = source.extent()
        loads = [max(0, end - 1) for _, end in extents]  # each partition has a marker
        fullest = int(np.argmax(loads))  # with partitions by key, another one may be almost empty
        measured = measured_records(self.spec, Fraction(loads[fullest], max(1, sum(loads))))
        chosen = to_read_back(measured, range(*extents[fullest]), self.transport.remembers)
        batches = source.read(fullest, chosen.start, chosen.stop)
        return pa.Table.from_batches(batches, schema=RECORDS)

    def _result(self) -> TrialResult:
        state = self.state
        valid, kept_up = self._verdicts()
        return TrialResult(
            spec=self.spec,
            status="invalid" if state.status == "done" and not valid.holds else state.status,
            cause=state.cause,
            valid=valid,
            correct=Verdict(holds=None, reason="without an engine there are no answers"),
            kept_up=kept_up,
            inputs=self._taken(),
            metrics=self._metrics(state.measured or Span(0, 0)),
            warnings=state.warnings,
            started=state.started,
            phases=state.phases,
            measured_ms=(state.measured.start_ms, state.measured.end_ms)
            if state.measured
            else None,
            topics=state.topics,
            sender=state.sender.model_dump() if state.sender else {},
        )

    def _verdicts(self) -> tuple[Verdict, Verdict]:
        """Judge the clocks, and what the broker took."""
        kept_up = Verdict(holds=None, reason="the load did not finish")
        if self.state.status != "done":
            cause = (self.state.cause or "").partition("\n")[0]
            return Verdict(holds=False, reason=cause), kept_up
        facts = self._load_facts()
        valid = verdicts.steady(facts)
        if valid.holds:
            return valid, verdicts.took(self.spec.load, facts)
        reason = "an invalid trial does not judge the broker"
        return valid, Verdict(holds=None, reason=reason)

    def _taken(self) -> int:
        """Count what the broker acknowledged, or holds where it acknowledges nothing."""
        if self._appended is not None:
            return self._appended
        return self.state.sender.acknowledged if self.state.sender else 0

    def _load_facts(self) -> verdicts.LoadFacts:
        sender = self.state.sender
        assert sender is not None
        return verdicts.LoadFacts(
            due=sender.due,
            sent=self._taken(),
            handed_over=None if self._appended is None else sender.acknowledged,
            lateness_p99_s=None,
            clock_moved_s=self.state.clock_moved_s,
            clock_offset_s=self.state.clock_offset_s,
            errors=sender.errors,
            backpressure_s=sender.backpressure_s,
            send_lateness_p99_s=sender.send_lateness.get("p99"),
            senders=sender.senders,
        )

    def _metrics(self, span: Span) -> dict[str, float]:
        timeline = [row for row in self.state.timeline if "log_end" in row]
        at_s = np.array([row["log_end_at"] for row in timeline])
        ends = np.array([row["log_end"] for row in timeline])
        found = {"rate.offered": self.spec.rate * len(self.endpoints.inputs)}
        found |= ingestion.rates(at_s, ends, span)
        found |= _counted(self.state.timeline, span)
        if "rate.appended" in found and self._value_bytes:
            found["bytes.appended"] = found["rate.appended"] * self._value_bytes
        appended = self._times["appended"].to_numpy()
        lateness_s = (appended - self._times["intended"].to_numpy()) / 1000
        found |= ingestion.append_runs(appended) | statistics.named("lateness", lateness_s)
        if self.state.sender is not None:
            late, request = self.state.sender.send_lateness, self.state.sender.request
            found |= {f"send_lateness.{name}": value for name, value in late.items()}
            found |= {f"request.{name}": value for name, value in request.items()}
        return found | record.usage(self.state.timeline, span)


def measured_records(spec: TrialSpec, share: Fraction) -> range:
    """Return the offsets, in a partition with that share, of what was due in the measured time.

    This is exact to a record where partitions follow the records' numbers. Where they follow keys,
    it is as exact as the keys are even.
    """
    planned, spans = arrivals.schedule(spec), arrivals.spans_of(spec)
    begin, end = (
        1 + int(planned.due(at_ms - 1) * share)  # a marker comes first
        for at_ms in (spans.warmup, spans.warmup + spans.measured)
    )
    return range(begin, end)


def to_read_back(measured: range, kept: range, remembered: int) -> range:
    """Choose consecutive records of the measured time, if possible from its middle.

    Only what the broker is sure to keep is chosen: the last `remembered` records. If nothing of
    the measured time is left, the newest records at least show their size.
    """
    begin, end = measured.start, min(measured.stop, kept.stop)
    middle = (begin + end - READ_BACK) // 2
    start = max(begin, middle, kept.start, kept.stop - remembered)
    if start >= end:
        start, end = max(kept.start, kept.stop - READ_BACK), kept.stop
    return range(start, min(end, start + READ_BACK))


def _counted(timeline: list[Row], span: Span) -> dict[str, float]:
    """Return what the broker itself counted, per second."""
    rows = record.inside(timeline, span, "broker.messages")
    if len(rows) < 2:
        return {}
    first, last = rows[0], rows[-1]
    passed_s = last["at"] - first["at"]
    names = ("broker.messages", "broker.bytes")
    return {name: (last[name] - first[name]) / passed_s for name in names}
