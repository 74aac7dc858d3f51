"""The phases of a trial, one after the other; this is where a trial acts.

prepare → (send backlog) → start → consume → warm-up → measure → run on → drain → stop → validate;
`results.events.Phase` has all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge import registry
from streamgauge.engines.job import finished_batches
from streamgauge.errors import (
    StreamgaugeError,
    TrialFailed,
    TrialInvalid,
    Unmeasured,
)
from streamgauge.jobfile import PROGRESS
from streamgauge.load.protocol import PULSE_MS, Marker
from streamgauge.load.senders import Senders
from streamgauge.measure.verdicts import Drain
from streamgauge.planning import (
    load_engine,
    load_profiler,
    load_workload,
    trial_job,
    trial_query,
)
from streamgauge.probes.sampler import Probe, Sampler
from streamgauge.process import end_if_asked
from streamgauge.results import events
from streamgauge.services import runtime
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.engine import Engine, Job
from streamgauge.spec.profile import Profiler, ReadsLater
from streamgauge.spec.query import Query
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.spec.values import Span
from streamgauge.spec.workload import HasTables, RemarksOnTrials
from streamgauge.trial import kept, record
from streamgauge.trial.acts import Acts
from streamgauge.trial.bench import Announce, Bench, TrialState
from streamgauge.trial.drain import Drainage, still_s
from streamgauge.trial.endpoints import trial_endpoints
from streamgauge.trial.instances import Instances
from streamgauge.trial.lag import Hopeless, hopeless
from streamgauge.trial.probes import (
    ReportedCpu,
    all_processes,
    engine_processes,
    trial_probes,
)
from streamgauge.trial.profiled import with_costs
from streamgauge.trial.watch import LimitPassed, Watch, at_fault
from streamgauge.validation.validator import validate

if TYPE_CHECKING:
    import pyarrow as pa

CONSUME_LIMIT_S = 120.0
BACKLOG_LIMIT_S = 300.0
"""For working off a backlog, including the engine's start."""
SENDER_LIMIT_S = 120.0
LATE_LOAD_S = 5.0
"""How much longer than planned a sender may take before the load is cut off."""
_NEEDS_PROGRESS = (
    "{}'s markers have no answer of their own, so an engine must report its progress, or commit"
    " its offsets to the consumer group that the job file names; this one did neither"
)
_LEAD_S = 0.5
"""Between the decision to begin and the first intended time."""


class Trial:
    """One trial with an engine under way."""

    def __init__(self, spec: TrialSpec, bench: Bench, folder: Path, announce: Announce) -> None:
        self.bench = bench
        self.folder = folder
        self.workload = load_workload(spec.workload)
        self.query: Query = trial_query(spec)
        self.spec = spec
        job = None if spec.engine is None else trial_job(spec)
        self.state = TrialState(spec=spec, resolved=job, warnings=list(spec.notes))
        self._announce = announce
        (folder / "logs").mkdir(parents=True)
        self.transport = registry.transport(spec.transport)
        self.endpoints = self._endpoints()
        self.state.topics = self.endpoints.places
        self.channel = self.transport.open(self.endpoints)
        self.watch = Watch(bench.told(), (folder, runtime.data_dir()), bench.clock)
        self.instances = Instances(self.state, bench, None if job is None else self.engine)
        self._output_ends: tuple[int, ...] = ()
        """Where the drain ended: what comes later counts as missing."""
        self._sampler: Sampler | None = None
        self._profiler: Profiler | None = None
        self._told_s = 0.0
        """Time of the last sample that was announced."""

    def run(self) -> TrialResult:
        """Go through all phases; what breaks off a trial becomes its status and cause."""
        try:
            self._measure()
            self._validate()
            end_if_asked()
        except StreamgaugeError as error:
            self._break_off(error)
        except OSError as error:  # a full disk, most likely
            self._break_off(TrialInvalid(f"cannot record the trial: {error}"))
        finally:
            self.state.clock_moved_s = self.watch.clock_moved_s
            self.instances.collect_logs(self.folder / "logs")
            self._clean_up()
        return self._result()

    @cached_property
    def engine(self) -> Engine:
        """The engine of a trial that has one."""
        assert self.spec.engine is not None
        return load_engine(self.spec.engine)

    def _result(self) -> TrialResult:
        result = record.result(self.state, self.query, answers=self.engine.answers)
        return with_costs(result, self.folder)

    def _clean_up(self) -> None:
        """Delete the streams, so that disk use stays bounded; those of a dead broker are gone."""
        if not self.spec.keep:
            self.transport.forget(self.folder)
        carrying = (self.bench.services[name] for name in self.transport.services)
        with self.channel:
            if all(service.lost() is None for service in carrying):
                try:
                    self.channel.delete()
                except Unmeasured as error:
                    self.state.warnings.append(error.message)

    def _break_off(self, error: StreamgaugeError) -> None:
        """Note the cause: a service that died is to blame for the errors that follow."""
        if cause := at_fault(self.bench.told()) or self.watch.troubles.first:
            error = TrialInvalid(cause)
        if not isinstance(error, Unmeasured):
            raise error
        self.state.status = "failed" if isinstance(error, TrialFailed) else "invalid"
        self.state.cause = error.message

    def _endpoints(self) -> Endpoints:
        return trial_endpoints(self.spec, self.query, self.transport, self.bench)

    def _measure(self) -> None:
        with ExitStack() as stack:
            with self._phase("prepare"):
                sender = self._prepare(stack)
            acts = self._send_first(sender)
            with self._phase("start"):
                job = self._start(stack, sender)
            drainage = self._follow(stack, job, sender)
            if acts is not None:
                self._follow_load(sender, acts)
            elif not self.spec.backlog:
                with self._phase("consume"):
                    drainage.follow()
                    self._await_consumption(drainage, sender)
                self._run_load(sender)
            if self.state.cut_s is None:
                with self._phase("drain"), self._profiled(when=self.spec.backlog):
                    drainage.follow()
                    self._drain(drainage, sender)
            self._note_output_ends()
            self._compare_clocks()
            with self._phase("stop"):
                self._stop(job, sender)

    def _prepare(self, stack: ExitStack) -> Senders:
        """Check what the trial needs, create its streams and start the senders."""
        self.instances.look(self.endpoints, self._announce)
        self._prepare_tables()
        self.channel.create()
        self.bench.release()
        self._compare_clocks()
        return stack.enter_context(self._start_senders())

    @property
    def _sender_first(self) -> bool:
        """Whether the engine may be started only when the sender is ready."""
        return self.transport.sender_first or bool(self.query.configuration)

    def _send_first(self, sender: Senders) -> Acts | None:
        """Send what goes before the engine; return the acts if the load has begun with it."""
        if self.spec.backlog:
            self._send_backlog(sender)
        elif self.spec.gathers:
            return self._gather(sender)
        elif self._sender_first:
            self._make_ready(sender)
        return None

    def _start(self, stack: ExitStack, sender: Senders) -> Job:
        """Start the engine, and let the sender get ready meanwhile if it is not yet."""
        job = stack.enter_context(self._start_engine())
        stack.callback(self.instances.note, job)
        self.watch.job = job
        if not (self.spec.backlog or self.spec.gathers or self._sender_first):
            sender.ready(SENDER_LIMIT_S)
        return job

    def _follow(self, stack: ExitStack, job: Job, sender: Senders) -> Drainage:
        """Follow the engine's progress and outputs, and take a sample each second."""
        drainage = Drainage(
            self.query,
            self.endpoints,
            self.channel,
            self._table_answered,
            job,
            self._marker_key,
            still_s=self._still_s,
        )
        self._sampler = Sampler(self._probes(job, sender, drainage))
        stack.callback(self._sampler.write, self.folder / "timeline.parquet")
        stack.enter_context(self._sampler)
        self.state.timeline = self._sampler.rows
        stack.callback(drainage.close)
        return drainage

    def _stop(self, job: Job, sender: Senders) -> None:
        """Stop the engine, then the sampler, then the sender; read what they leave."""
        assert self._sampler is not None, "it has sampled since the engine's start"
        self.watch.check()
        self.watch.job = None
        job.stop()
        self._sampler.stop()
        self.watch.sender = None  # not before the engine, which may ask it for more
        cut = self.state.cut_s is not None
        self.state.sender = sender.cut() if cut else sender.finish()
        self.state.batches = finished_batches(self.folder / PROGRESS)
        self.state.checkpoints_ms = self._checkpoints()
        if isinstance(self._profiler, ReadsLater):
            self._profiler.read()

    def _checkpoints(self) -> list[int]:
        """Return when checkpoints interrupted the measured span, for engines where they do."""
        if self.state.job.checkpoint_s is None or self.state.measured is None:
            return []
        span = self.state.measured
        found = [int(batch.at * 1000) for batch in self.state.batches]
        return [at_ms for at_ms in found if span.start_ms <= at_ms < span.end_ms]

    def _compare_clocks(self) -> None:
        """Measure how far the clocks of given services are from ours; the worst counts."""
        for service in self.bench.services.values():
            if service.clock_offset is not None:
                found_s, known_s = service.clock_offset(), self.state.clock_offset_s or 0.0
                self.state.clock_offset_s = max(found_s, known_s, key=abs)

    def _probes(self, job: Job, sender: Senders, drainage: Drainage) -> dict[str, Probe]:
        roots = self.bench.processes()
        roots |= {**engine_processes(job), "sender": lambda: sender.pids}
        probes = trial_probes(
            self.query, self.endpoints, self.channel, roots, drainage.finished, sender
        )
        reported = ReportedCpu(job).sample
        return {**probes, "reported": reported, "troubles": self.watch.troubles.sample}

    def _prepare_tables(self) -> None:
        if isinstance(self.workload, HasTables) and self.query.tables:
            self.workload.load_tables(
                self.spec, self.endpoints.services, self.bench.cache, self.bench.spark
            )

    def _start_senders(self) -> Senders:
        """Start the senders on CPUs that the engine does not have, if there are any."""
        cpus = self.instances.others_cpus()
        sending = self.transport.sending(self.endpoints)
        sender = Senders.start(
            self.spec, self.endpoints, sending, self.folder, pulse=self._pulse, affinity=cpus
        )
        self.watch.sender = sender
        sender.check = self.watch.check
        return sender

    def _start_engine(self) -> Job:
        resources = self.instances.resources()
        return self.engine.start(self.state.job, self.endpoints, resources, self.folder)

    @property
    def _marker_key(self) -> Callable[[Marker], str] | None:
        """Return what finds the key of the output that answers a marker; None if none does."""
        window_of = self.query.window_of
        if self._pulse and window_of is not None:
            return lambda marker: window_of(marker.value, marker.appended_ms)
        if not self.query.answers_markers:
            return None
        own = self.query.marker_key
        return lambda marker: str(marker.id) if own is None else own(marker.value)

    @property
    def _pulse(self) -> bool:
        """Whether markers keep coming around the load, since only records close windows."""
        return self.state.resolved is not None and self.state.resolved.closed_by_records

    def _pulsing(self, sender: Senders, condition: Callable[[], bool]) -> Callable[[], bool]:
        """Keep sending markers while waiting for a condition, where they close windows."""
        clock = self.bench.clock.monotonic
        due_s = clock() + PULSE_MS / 1000

        def look() -> bool:
            nonlocal due_s
            if self._pulse and clock() >= due_s:
                sender.markers()
                due_s = clock() + PULSE_MS / 1000
            return condition()

        return self._telling(look)

    def _await_consumption(self, drainage: Drainage, sender: Senders) -> None:
        markers = sender.markers()
        try:
            self.watch.wait_for(
                self._pulsing(sender, lambda: drainage.passed(markers)),
                CONSUME_LIMIT_S,
                "the engine does not consume",
            )
        except LimitPassed as error:
            silent = self._marker_key is None and not drainage.finished()
            reason = "no answer to the first markers and no progress past them"
            raise TrialFailed(
                f"{error}: {_NEEDS_PROGRESS.format(self.query.name) if silent else reason}",
                f"see {self.folder / 'logs' / 'engine.log'}",
            ) from None

    def _make_ready(self, sender: Senders) -> None:
        """Wait for the sender, and let it send what goes before the load."""
        sender.ready(SENDER_LIMIT_S)
        if self.query.configuration:
            sender.configuration()

    def _send_backlog(self, sender: Senders) -> None:
        """Send everything before the engine starts; lateness does not matter."""
        with self._phase("send backlog"):
            self._make_ready(sender)
            sender.begin(int(self.bench.clock.realtime() * 1000))
            limit_s = self.spec.load_s + SENDER_LIMIT_S
            try:
                self.watch.wait_for(lambda: sender.finished, limit_s, "the backlog was not sent")
            except LimitPassed as error:
                raise TrialInvalid(str(error)) from None

    def _gather(self, sender: Senders) -> Acts:
        """Let the load begin, and wait for the time at which the engine is started."""
        with self._phase("send backlog", self.spec.warmup_s + _LEAD_S):
            self._make_ready(sender)
            acts = self._begin_load(sender)
            self._until(self._measured.start_ms, sender, acts)
        return acts

    def _run_load(self, sender: Senders) -> None:
        acts = self._begin_load(sender)
        with self._phase("warm-up", self.spec.warmup_s + _LEAD_S):
            self._until(self._measured.start_ms, sender, acts)
        self._follow_load(sender, acts)

    def _begin_load(self, sender: Senders) -> Acts:
        """Let the load begin, which fixes the measured span."""
        start_ms = int((self.bench.clock.realtime() + _LEAD_S) * 1000)
        if self.query.whole_seconds:
            start_ms = -(-start_ms // 1000) * 1000
        begin_ms = start_ms + int(self.spec.warmup_s * 1000)
        self.state.measured = Span(begin_ms, begin_ms + int(self.spec.duration_s * 1000))
        sender.begin(start_ms)
        return Acts(self.spec, self.bench, self._announce, start_ms)

    @property
    def _measured(self) -> Span:
        assert self.state.measured is not None, "the load has begun"
        return self.state.measured

    def _follow_load(self, sender: Senders, acts: Acts) -> None:
        """Watch the trial from the measured time to the end of the load."""
        # The driver's own queues would end with the sender, while the engine still reads them.
        may_be_cut = not self.transport.sender_first
        doomed = hopeless(self.state, len(self.query.streams)) if may_be_cut else None
        with self._phase("measure", self.spec.duration_s), self._profiled():
            self._until(self._measured.end_ms, sender, acts, doomed)
        if self.state.cut_s is not None:
            return
        end_ms = self._measured.end_ms + int((self.spec.tail_s + LATE_LOAD_S) * 1000)
        with self._phase("run on", self.spec.tail_s):
            self._until(end_ms, sender, acts)

    def _cut(self, now_s: float) -> None:
        """Let the measured time end now."""
        begin_ms = self._measured.start_ms
        self.state.measured = Span(begin_ms, int(now_s * 1000))
        self.state.cut_s = now_s - begin_ms / 1000
        self.state.drain = Drain(False)

    @contextmanager
    def _profiled(self, *, when: bool = True) -> Iterator[None]:
        """Profile the engine, if that was asked for."""
        if not when or self.spec.profile is None or (job := self.watch.job) is None:
            yield
            return
        profiler = self._profiler = load_profiler(self.spec.profile)
        folder = self.folder / "profile"
        folder.mkdir()
        with profiler.record(lambda: all_processes(job), folder):
            yield

    def _until(
        self, end_ms: int, sender: Senders, acts: Acts, doomed: Hopeless | None = None
    ) -> None:
        """Watch the trial until a time, or until all is sent and done, or it is hopeless."""
        clock = self.bench.clock
        while (now_s := clock.realtime()) * 1000 < end_ms and (acts or not sender.finished):
            self.watch.check()
            acts.do_due(now_s)
            self._tell()
            if doomed is not None and doomed.seen(self.state.timeline, int(now_s * 1000)):
                self._cut(now_s)
                return
            clock.sleep(min(0.1, max(0.0, end_ms / 1000 - now_s)))

    def _drain(self, drainage: Drainage, sender: Senders) -> None:
        clock = self.bench.clock
        limit_s = BACKLOG_LIMIT_S if self.spec.backlog else max(60.0, self.spec.duration_s / 2)
        end_s = clock.monotonic() + limit_s + self._still_s
        markers = sender.markers()
        try:
            if self.query.needs_sentinels and not self._pulse:
                # A sentinel that overtook another partition's record would close its window early.
                left_s = end_s - clock.monotonic()
                consumed = self._telling(lambda: drainage.passed(markers))
                self.watch.wait_for(consumed, left_s, "not consumed")
                markers = sender.sentinels()
            if self._pulse:
                left_s = end_s - clock.monotonic()
                answered = self._pulsing(sender, lambda: drainage.answers(markers))
                self.watch.wait_for(answered, left_s, "not answered")
            left_s = end_s - clock.monotonic()
            drained = self._telling(lambda: drainage.drained(markers))
            self.watch.wait_for(drained, left_s, "not drained")
        except LimitPassed:
            self.state.drain = Drain(False, drainage.outstanding(markers))
        else:
            self.state.drain = Drain(True, 0)

    def _note_output_ends(self) -> None:
        """Remember where the output ends: what comes later counts as missing."""
        if self.endpoints.output is not None:
            self._output_ends = tuple(self.channel.log_end(self.endpoints.output))

    @property
    def _still_s(self) -> float:
        return still_s(self.query, self.state.job.trigger_s)

    def _table_answered(self, markers: Sequence[Marker]) -> bool:
        assert isinstance(self.workload, HasTables)
        values = [marker.value for marker in markers]
        return self.workload.table_answered(self.endpoints.services, values)

    def _validate(self) -> None:
        with self._phase("validate"):
            self.instances.look_again(self.endpoints, self._announce)
            tables = self._record_tables()
            recorded = self.transport.read_back(
                self.spec, self.endpoints, self.folder, self._output_ends
            )
            if self.spec.keep:
                self.transport.keep(recorded, self.folder)
            self.state.validation = validate(
                self.bench.spark(),
                self.query,
                recorded,
                tables,
                self.state.job,
                answers=self.engine.answers,
            )
            self.bench.release()
            kept.write_validation(self.folder, self.state.validation)
        if isinstance(self.workload, RemarksOnTrials) and self.state.measured is not None:
            self.state.warnings += self.workload.remarks(self.spec, self.state.measured)

    def _record_tables(self) -> Mapping[str, pa.Table]:
        if not isinstance(self.workload, HasTables) or not self.query.tables:
            return {}
        tables = self.workload.record_tables(self.spec, self.endpoints.services, self.bench.cache)
        kept.write_tables(self.folder, tables)
        return tables

    @contextmanager
    def _phase(self, name: events.Phase, lasts_s: float | None = None) -> Iterator[None]:
        began_s = self.bench.clock.monotonic()
        self._announce(events.enters(self.spec.number, name, lasts_s))
        try:
            yield
        finally:
            self.state.phases[name] = self.bench.clock.monotonic() - began_s

    def _telling(self, condition: Callable[[], bool]) -> Callable[[], bool]:
        """Announce samples while waiting for a condition."""

        def look() -> bool:
            self._tell()
            return condition()

        return look

    def _tell(self) -> None:
        """Announce the newest sample, once."""
        newest = self._sampler.newest if self._sampler is not None else {}
        if newest and newest["at"] > self._told_s:
            self._told_s = newest["at"]
            self._announce(events.sampled(self.spec.number, newest))
