"""The phases of a trial, one after the other; this is where a trial acts.

prepare → start → consume → warm-up → measure → run on → drain → stop → validate
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.engines.job import PROGRESS, finished_batches
from streamgauge.errors import (
    StreamgaugeError,
    TrialFailed,
    TrialInvalid,
    Unmeasured,
)
from streamgauge.load.messages import Marker
from streamgauge.load.senders import Senders
from streamgauge.measure.verdicts import Drain
from streamgauge.planning import load_engine, load_workload, trial_job, trial_query
from streamgauge.probes.sampler import Probe, Sampler
from streamgauge.process import end_if_asked
from streamgauge.results import events
from streamgauge.services import runtime
from streamgauge.spec.engine import Engine, Job, Resources
from streamgauge.spec.transport import Endpoints
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.spec.values import Span
from streamgauge.spec.workload import Act, HasTables, Query
from streamgauge.trial import kept, record
from streamgauge.trial.bench import Announce, Bench, Outcome
from streamgauge.trial.drain import Drainage, still_s
from streamgauge.trial.endpoints import open_transport, topics, trial_endpoints
from streamgauge.trial.probes import trial_probes
from streamgauge.trial.watch import LimitPassed, Watch
from streamgauge.units import format_duration
from streamgauge.validation.validator import validate

if TYPE_CHECKING:
    import pyarrow as pa

CONSUME_LIMIT_S = 120.0
PROBE_LIMIT_S = 300.0
"""Of working off a backlog, with the engine's start."""
SENDER_LIMIT_S = 120.0
LATE_LOAD_S = 5.0
"""How much longer than planned a sender may take before the load is cut off."""
_NEEDS_PROGRESS = (
    "{}'s markers have no answer of their own, so an engine must report its progress, or commit"
    " its offsets to the consumer group that the job file names; this one did neither"
)
_ACT_LATE_S = 1.0
_LEAD_S = 0.5
"""Between the decision to begin and the first intended time."""


class Trial:
    """One trial with an engine under way."""

    def __init__(self, spec: TrialSpec, bench: Bench, folder: Path, announce: Announce) -> None:
        self.bench = bench
        self.folder = folder
        self.workload = load_workload(spec.workload)
        self.query: Query = trial_query(spec)
        warnings: list[str] = []
        if isinstance(self.workload, HasTables):
            spec, warnings = self.workload.plan(spec)
        job = None if spec.engine is None else trial_job(spec)
        self.spec = spec if job is None else spec.model_copy(update={"mode": job.mode})
        self.outcome = Outcome(spec=self.spec, resolved=job, warnings=warnings)
        self._announce = announce
        (folder / "logs").mkdir(parents=True)
        self.endpoints = self._endpoints()
        self.outcome.topics = topics(self.endpoints)
        self.transport = open_transport(self.endpoints)
        self.watch = Watch(bench.services(), (folder, runtime.data_dir()), bench.clock)
        self._cpus = sorted(os.sched_getaffinity(0))
        self._output_ends: tuple[int, ...] = ()
        """Where the drain ended: what comes later is missing."""
        self._sampler: Sampler | None = None
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
            self.outcome.clock_moved_s = self.watch.clock_moved_s
            self._clean_up()
        return self._result()

    @cached_property
    def engine(self) -> Engine:
        """The engine of a trial that has one."""
        assert self.spec.engine is not None
        return load_engine(self.spec.engine)

    def _result(self) -> TrialResult:
        return record.result(self.outcome, self.query, answers=self.engine.answers)

    def _clean_up(self) -> None:
        """Delete the topics, so that the disk stays bounded; a dead broker took them along."""
        if not self.spec.keep:
            kept.drop_records(self.folder)
        with self.transport:
            if self.bench.kafka is None or self.bench.kafka.lost() is None:
                try:
                    self.transport.delete(self.endpoints)
                except Unmeasured as error:
                    self.outcome.warnings.append(error.message)

    def _break_off(self, error: StreamgaugeError) -> None:
        """Name the cause: a service that died is to blame for what others say of it."""
        for name, service in self.bench.services().items():
            if failure := service.lost():
                error = TrialInvalid(f"{name} died: {failure}")
                break
        if not isinstance(error, Unmeasured):
            raise error
        self.outcome.status = "failed" if isinstance(error, TrialFailed) else "invalid"
        self.outcome.cause = error.message

    def _endpoints(self) -> Endpoints:
        return trial_endpoints(self.spec, self.query, self.bench)

    def _measure(self) -> None:
        with ExitStack() as stack:
            with self._phase("prepare"):
                self._prepare_tables()
                self.transport.create(self.endpoints)
                self._compare_clocks()
                sender = stack.enter_context(self._start_senders())
            if self.spec.preload:
                self._preload(sender)
            elif self.endpoints.flight is not None:
                sender.ready(SENDER_LIMIT_S)  # the engine asks at once what is in the queues
            with self._phase("start"):
                job = stack.enter_context(self._start_engine())
                self.watch.job = job
                if not self.spec.preload and self.endpoints.flight is None:
                    sender.ready(SENDER_LIMIT_S)
            drainage = Drainage(
                self.query,
                self.endpoints,
                self.transport,
                self._table_answered,
                job,
                still_s=self._still_s,
            )
            sampler = self._sampler = Sampler(self._probes(job, sender, drainage))
            stack.callback(sampler.write, self.folder / "timeline.parquet")
            stack.enter_context(sampler)
            self.outcome.timeline = sampler.rows
            stack.callback(drainage.close)
            if not self.spec.preload:
                with self._phase("consume"):
                    drainage.follow()
                    self._await_consumption(drainage, sender.markers())
                self._run_load(sender)
            with self._phase("drain"):
                drainage.follow()
                self._drain(drainage, sender)
            self._compare_clocks()
            with self._phase("stop"):
                self.watch.check()
                self.watch.job = None
                job.stop()
                sampler.stop()
                self.watch.sender = None  # not before the engine, which may ask it for more
                self.outcome.sender = sender.finish()
                self.outcome.checkpoints_ms = self._checkpoints()

    def _checkpoints(self) -> list[int]:
        """Tell when the measured span was interrupted by checkpoints, where they interrupt."""
        if self.outcome.job.checkpoint_s is None or self.outcome.measured is None:
            return []
        span = self.outcome.measured
        found = [int(at_s * 1000) for at_s in finished_batches(self.folder / PROGRESS)]
        return [at_ms for at_ms in found if span.start_ms <= at_ms < span.end_ms]

    def _compare_clocks(self) -> None:
        """Measure how far the clocks of given services are from ours; the worst counts."""
        for service in self.bench.services().values():
            if service.clock_offset is not None:
                found_s, known_s = service.clock_offset(), self.outcome.clock_offset_s or 0.0
                self.outcome.clock_offset_s = max(found_s, known_s, key=abs)

    def _probes(self, job: Job, sender: Senders, drainage: Drainage) -> dict[str, Probe]:
        roots = {name: service.processes for name, service in self.bench.services().items()}
        roots |= {"engine": job.processes, "sender": lambda: sender.pids}
        return trial_probes(
            self.query, self.endpoints, self.transport, roots, drainage.finished, sender
        )

    def _prepare_tables(self) -> None:
        if isinstance(self.workload, HasTables) and self.query.tables:
            assert self.endpoints.postgres is not None
            self.workload.load_tables(
                self.spec, self.endpoints.postgres, self.bench.cache, self.bench.spark
            )

    def _start_senders(self) -> Senders:
        """Start them on CPUs that the engine does not have, where there are any."""
        cpus = self._cpus[self.spec.cores :] if self.spec.cores else ()
        sender = Senders.start(self.spec, self.endpoints, self.folder, affinity=cpus)
        self.watch.sender = sender
        sender.check = self.watch.check
        return sender

    def _start_engine(self) -> Job:
        resources = Resources(cpus=tuple(self._cpus[: self.spec.cores]))
        return self.engine.start(self.outcome.job, self.endpoints, resources, self.folder)

    def _await_consumption(self, drainage: Drainage, markers: Sequence[Marker]) -> None:
        try:
            self.watch.wait_for(
                self._telling(lambda: drainage.passed(markers)),
                CONSUME_LIMIT_S,
                "the engine does not consume",
            )
        except LimitPassed as error:
            silent = not self.query.answers_markers and not drainage.finished()
            reason = "no answer to the first markers and no progress past them"
            raise TrialFailed(
                f"{error}: {_NEEDS_PROGRESS.format(self.query.name) if silent else reason}",
                f"see {self.folder / 'logs' / 'engine.log'}",
            ) from None

    def _preload(self, sender: Senders) -> None:
        """Send everything before the engine starts; how late is of no matter."""
        with self._phase("preload"):
            sender.ready(SENDER_LIMIT_S)
            sender.begin(int(self.bench.clock.realtime() * 1000))
            limit_s = self.spec.load_s + SENDER_LIMIT_S
            try:
                self.watch.wait_for(lambda: sender.finished, limit_s, "the backlog was not sent")
            except LimitPassed as error:
                raise TrialInvalid(str(error)) from None

    def _run_load(self, sender: Senders) -> None:
        start_ms = int((self.bench.clock.realtime() + _LEAD_S) * 1000)
        begin_ms = start_ms + int(self.spec.warmup_s * 1000)
        measured = Span(begin_ms, begin_ms + int(self.spec.duration_s * 1000))
        self.outcome.measured = measured
        acts = self._acts(measured)
        sender.begin(start_ms)
        with self._phase("warm-up", self.spec.warmup_s + _LEAD_S):
            self._until(begin_ms, start_ms, sender, acts)
        with self._phase("measure", self.spec.duration_s):
            self._until(measured.end_ms, start_ms, sender, acts)
        end_ms = start_ms + int((self.spec.load_s + LATE_LOAD_S) * 1000)
        with self._phase("run on", self.spec.tail_s):
            self._until(end_ms, start_ms, sender, acts)

    def _until(self, end_ms: int, start_ms: int, sender: Senders, acts: list[Act]) -> None:
        """Look after the trial until a time, or until all is sent."""
        clock = self.bench.clock
        while (now_s := clock.realtime()) * 1000 < end_ms and not sender.finished:
            self.watch.check()
            while acts and acts[0].at_s <= now_s - start_ms / 1000:
                self._do(acts.pop(0), start_ms)
            self._tell()
            clock.sleep(min(0.1, max(0.0, end_ms / 1000 - now_s)))

    def _do(self, act: Act, start_ms: int) -> None:
        """Do what is due; the answers count on its being done in time."""
        act.do()
        self._announce({"trial": self.spec.number, "act": act.what})
        late_s = self.bench.clock.realtime() - start_ms / 1000 - act.at_s
        if late_s > _ACT_LATE_S:
            raise TrialInvalid(f"{act.what}, but {format_duration(late_s)} late")

    def _acts(self, measured: Span) -> list[Act]:
        if not isinstance(self.workload, HasTables) or self.endpoints.postgres is None:
            return []
        acts = self.workload.acts(self.spec, self.endpoints.postgres, measured)
        return sorted(acts, key=lambda act: act.at_s)

    def _drain(self, drainage: Drainage, sender: Senders) -> None:
        clock = self.bench.clock
        limit_s = PROBE_LIMIT_S if self.spec.preload else max(60.0, self.spec.duration_s / 2)
        end_s = clock.monotonic() + limit_s + self._still_s
        markers = sender.markers()
        try:
            if self.query.needs_sentinels:
                # One that overtook a record of another partition would close its window too early.
                left_s = end_s - clock.monotonic()
                consumed = self._telling(lambda: drainage.passed(markers))
                self.watch.wait_for(consumed, left_s, "not consumed")
                markers = sender.sentinels()
            left_s = end_s - clock.monotonic()
            drained = self._telling(lambda: drainage.drained(markers))
            self.watch.wait_for(drained, left_s, "not drained")
        except LimitPassed:
            self.outcome.drain = Drain(False, drainage.outstanding(markers))
        else:
            self.outcome.drain = Drain(True, 0)
        if self.endpoints.output is not None:
            self._output_ends = tuple(self.transport.log_end(self.endpoints.output))

    @property
    def _still_s(self) -> float:
        return still_s(self.query, self.outcome.job.trigger_s)

    def _table_answered(self, markers: Sequence[Marker]) -> bool:
        assert isinstance(self.workload, HasTables)
        assert self.endpoints.postgres is not None
        values = [marker.value for marker in markers]
        return self.workload.table_answered(self.endpoints.postgres, values)

    def _validate(self) -> None:
        with self._phase("validate"):
            tables = self._record_tables()
            inputs, output = kept.records(self.spec, self.endpoints, self.folder, self._output_ends)
            if self.spec.keep and self.endpoints.flight is None:
                kept.keep_records(self.folder, inputs, output)
            self.outcome.validation = validate(
                self.bench.spark(),
                self.query,
                inputs,
                output,
                tables,
                self.outcome.job,
                answers=self.engine.answers,
            )
            kept.write_validation(self.folder, self.outcome.validation)

    def _record_tables(self) -> Mapping[str, pa.Table]:
        if not isinstance(self.workload, HasTables) or not self.query.tables:
            return {}
        assert self.endpoints.postgres is not None
        tables = self.workload.record_tables(self.spec, self.endpoints.postgres, self.bench.cache)
        kept.write_tables(self.folder, tables)
        return tables

    @contextmanager
    def _phase(self, name: str, lasts_s: float | None = None) -> Iterator[None]:
        began_s = self.bench.clock.monotonic()
        self._announce(events.enters(self.spec.number, name, lasts_s))
        try:
            yield
        finally:
            self.outcome.phases[name] = self.bench.clock.monotonic() - began_s

    def _telling(self, condition: Callable[[], bool]) -> Callable[[], bool]:
        """Let whoever waits for a condition announce the samples meanwhile."""

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
