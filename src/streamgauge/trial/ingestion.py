"""A trial of the broker alone: load without an engine, then a look at the append times.

prepare → start → warm-up → measure → run on → stop → read back
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.errors import NotReady
from streamgauge.load.arrivals import spans_of
from streamgauge.load.senders import Senders
from streamgauge.measure import ingestion, statistics, verdicts
from streamgauge.measure.columns import RECORDS
from streamgauge.measure.messages import headers
from streamgauge.probes.broker import BrokerCounters
from streamgauge.probes.sampler import Probe, Row, Sampler
from streamgauge.spec.contracts import Endpoints, Span
from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict
from streamgauge.transports.kafka import KafkaTransport
from streamgauge.trial import record
from streamgauge.trial.bench import Announce, Bench
from streamgauge.trial.phases import SENDER_LIMIT_S, Trial
from streamgauge.trial.probes import trial_probes
from streamgauge.validation.records import KafkaRecords

READ_BACK = 200_000
"""Records whose append times are looked at."""
_REMEMBERED = 1_000_000
"""The broker may forget older ones at any moment."""
APPEND_TIMES = "append_times.parquet"
_FINISH_S = 60.0
_TIMES = pa.schema([("offset", pa.int64()), ("appended", pa.int64()), ("intended", pa.int64())])


def run_ingestion(spec: TrialSpec, bench: Bench, folder: Path, announce: Announce) -> TrialResult:
    """Run one trial without an engine; never raises for what spoils a trial."""
    return Ingestion(spec, bench, folder, announce).run()


class Ingestion(Trial):
    """One trial of the broker under way."""

    def __init__(self, spec: TrialSpec, bench: Bench, folder: Path, announce: Announce) -> None:
        super().__init__(spec, bench, folder, announce)
        self._times = _TIMES.empty_table()
        self._value_bytes = 0.0

    def _endpoints(self) -> Endpoints:
        endpoints = replace(super()._endpoints(), output=None, postgres=None)
        self.outcome.topics = dict(endpoints.inputs)
        return endpoints

    def _measure(self) -> None:
        with ExitStack() as stack:
            with self._phase("prepare"):
                with KafkaTransport(self.endpoints.broker) as transport:
                    transport.create(self.endpoints, forgets=True)
                sender = stack.enter_context(self._start_senders())
            with self._phase("start"):
                sender.ready(SENDER_LIMIT_S)
                sender.markers()
            sampler = Sampler(self._load_probes(sender, stack))
            stack.callback(sampler.write, self.folder / "timeline.parquet")
            stack.enter_context(sampler)
            self.outcome.timeline = sampler.rows
            self._sampler = sampler
            self._run_load(sender)
            with self._phase("stop"):
                self.outcome.sender = sender.finish(_FINISH_S)
                self.watch.sender = None
                sampler.stop()

    def _load_probes(self, sender: Senders, stack: ExitStack) -> dict[str, Probe]:
        roots = {name: service.processes for name, service in self.bench.services().items()}
        roots["sender"] = lambda: sender.pids
        probes = trial_probes(self.query, self.endpoints, self.transport, roots, dict, sender)
        if (jmx := self.endpoints.broker.jmx) is None:
            self.outcome.warnings.append("the broker's own counters are left out: it is not ours")
            return probes
        counters = stack.enter_context(BrokerCounters(jmx))
        try:
            counters.sample(0.0)  # starts Java now, not while the load is measured
            probes["broker"] = counters.sample
        except NotReady as error:
            self.outcome.warnings.append(error.message)
        return probes

    def _validate(self) -> None:
        """Read consecutive records of a partition back, if possible from the middle."""
        with self._phase("read back"):
            records = self._read_middle()
            if len(records):
                values = records["value"].combine_chunks()
                intended = pa.array(headers(values).intended)
                columns = [records["offset"], records["timestamp"], intended]
                self._times = self._measured_alone(pa.table(columns, schema=_TIMES))
                self._value_bytes = float(pc.mean(pc.binary_length(values)).as_py())
            pq.write_table(self._times, self.folder / APPEND_TIMES, compression="zstd")

    def _measured_alone(self, times: pa.Table) -> pa.Table:
        """Leave out warm-up, tail and markers."""
        span = self.outcome.measured or Span(0, 0)
        intended = pc.field("intended")
        return times.filter((intended >= span.start_ms) & (intended < span.end_ms))

    def _read_middle(self) -> pa.Table:
        topic = next(iter(self.endpoints.inputs.values()))
        source = KafkaRecords(self.endpoints.broker, topic)
        low, high = source.extent()[0]
        spans = spans_of(self.spec)
        begin = high * spans.warmup // spans.total
        end = high * (spans.warmup + spans.measured) // spans.total
        start = max(low, begin, (begin + end - READ_BACK) // 2, high - _REMEMBERED)
        batches = source.read(0, start, min(high, start + READ_BACK))
        return pa.Table.from_batches(batches, schema=RECORDS)

    def _result(self) -> TrialResult:
        outcome = self.outcome
        valid = Verdict(
            holds=outcome.status == "done",
            reason=(outcome.cause or "").partition("\n")[0]
            or "the clock was steady and nothing died; how much was taken is the result",
        )
        kept_up = Verdict(holds=None, reason="the load did not come to its end")
        if outcome.sender is not None and valid.holds:
            kept_up = verdicts.took(self.spec.load, self._driver())
        return TrialResult(
            spec=self.spec,
            status=outcome.status,
            cause=outcome.cause,
            valid=valid,
            correct=Verdict(holds=None, reason="without an engine there are no answers"),
            kept_up=kept_up,
            inputs=outcome.sender.acknowledged if outcome.sender else 0,
            metrics=self._metrics(outcome.measured or Span(0, 0)),
            warnings=outcome.warnings,
            started=outcome.started,
            phases=outcome.phases,
            measured_ms=(outcome.measured.start_ms, outcome.measured.end_ms)
            if outcome.measured
            else None,
            topics=outcome.topics,
            sender=outcome.sender.model_dump() if outcome.sender else {},
        )

    def _driver(self) -> verdicts.Driver:
        sender = self.outcome.sender
        assert sender is not None
        return verdicts.Driver(
            due=sender.due,
            sent=sender.acknowledged,
            lateness_p99_s=None,
            clock_moved_s=self.outcome.clock_moved_s,
            errors=sender.errors,
            backpressure_s=sender.backpressure_s,
            send_lateness_p99_s=sender.send_lateness.get("p99"),
            senders=sender.senders,
        )

    def _metrics(self, span: Span) -> dict[str, float]:
        timeline = [row for row in self.outcome.timeline if "log_end" in row]
        at_s = np.array([row["log_end_at"] for row in timeline])
        ends = np.array([row["log_end"] for row in timeline])
        found = {"rate.offered": self.spec.rate * len(self.endpoints.inputs)}
        found |= ingestion.rates(at_s, ends, span)
        found |= _counted(self.outcome.timeline, span)
        if "rate.appended" in found and self._value_bytes:
            found["bytes.appended"] = found["rate.appended"] * self._value_bytes
        appended = self._times["appended"].to_numpy()
        lateness_s = (appended - self._times["intended"].to_numpy()) / 1000
        found |= ingestion.stairs(appended) | statistics.named("lateness", lateness_s)
        if self.outcome.sender is not None:
            late, request = self.outcome.sender.send_lateness, self.outcome.sender.request
            found |= {f"send_lateness.{name}": value for name, value in late.items()}
            found |= {f"request.{name}": value for name, value in request.items()}
        return found | record.usage(self.outcome.timeline, span)


def _counted(timeline: list[Row], span: Span) -> dict[str, float]:
    """Return what the broker itself counted, per second."""
    rows = record.inside(timeline, span, "broker.messages")
    if len(rows) < 2:
        return {}
    first, last = rows[0], rows[-1]
    passed_s = last["at"] - first["at"]
    names = ("broker.messages", "broker.bytes")
    return {name: (last[name] - first[name]) / passed_s for name in names}
