"""All senders of a trial as one: started together, judged together, stopped together."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import numpy as np

from streamgauge import process
from streamgauge.errors import TrialInvalid
from streamgauge.load import spark_senders
from streamgauge.load.lateness import Lateness
from streamgauge.load.protocol import Marker, SenderJob, SenderSummary, Sent, TickLine
from streamgauge.load.sender_handle import SenderHandle
from streamgauge.load.settings import check_load
from streamgauge.measure.statistics import summarize
from streamgauge.process import Process
from streamgauge.services.endpoints import write_endpoints
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.offering import Sending
from streamgauge.spec.trial import TrialSpec

_RENDER_S = 600.0
_FLUSH_S = 60.0


class Senders:
    """The running senders of a trial; leaving the context stops them all."""

    def __init__(
        self, senders: Sequence[SenderHandle], stack: ExitStack, driver: Process | None = None
    ) -> None:
        self._senders = senders
        self._stack = stack
        self._driver = driver
        """Of the Spark job whose tasks they are."""

    @classmethod
    def start(
        cls,
        spec: TrialSpec,
        endpoints: Endpoints,
        sending: Sending,
        folder: Path,
        *,
        pulse: bool = False,
        affinity: Sequence[int] = (),
    ) -> Senders:
        """Start the processes; they begin to render payloads at once.

        Args:
            spec: The trial.
            endpoints: Where the load goes.
            sending: The program that sends it there.
            folder: Of the trial.
            pulse: Whether markers are repeated until the load begins.
            affinity: Numbers of the CPUs that the processes may use; empty for all.

        Raises:
            UsageError: The load's settings contradict each other.
            TrialInvalid: The payloads to be streamed could not be written.
        """
        check_load(spec.load)
        folder = folder.absolute()
        with ExitStack() as stack:
            whole = _job(spec, endpoints, folder, pulse=pulse)
            if whole.payloads is not None:
                stack.callback(shutil.rmtree, whole.payloads, ignore_errors=True)
                _render(whole, folder)
            if spec.load.spark is not None:
                driver, senders = spark_senders.start(
                    whole, spec.load.senders, spec.load.spark, folder
                )
                for sender in senders:
                    stack.enter_context(sender)
                return cls(senders, stack.pop_all(), driver)
            jobs = whole.shared(spec.load.senders or 1)
            senders = [
                stack.enter_context(
                    SenderHandle.start(
                        job,
                        job.ticks.with_suffix(".json"),
                        program=sending.program,
                        env=sending.env,
                        affinity=cpus,
                    )
                )
                for job, cpus in zip(jobs, share_cpus(affinity, len(jobs)), strict=True)
            ]
            return cls(senders, stack.pop_all())

    @property
    def check(self) -> Callable[[], None]:
        """Called while a sender is waited for; raises when waiting is useless."""
        return self._senders[0].check

    @check.setter
    def check(self, check: Callable[[], None]) -> None:
        for sender in self._senders:
            sender.check = check

    @property
    def pids(self) -> list[int]:
        """Ids of the senders' processes."""
        return list(dict.fromkeys(sender.pid for sender in self._senders))

    def ready(self, timeout_s: float) -> None:
        """Wait until all have their payloads and the broker answers them."""
        for sender in self._senders:
            sender.ready(timeout_s)

    def configuration(self) -> None:
        """Send the streams that go before the load, and wait until they are taken."""
        self._senders[0].configuration()

    def markers(self) -> list[Marker]:
        """Send one marker to every input partition; return them with their offsets."""
        return self._senders[0].markers()

    def sentinels(self) -> list[Marker]:
        """Send one sentinel to every input partition; return them with their offsets."""
        return self._senders[0].sentinels()

    def begin(self, start_ms: int) -> None:
        """Let all begin at that time, epoch milliseconds, and return at once."""
        for sender in self._senders:
            sender.begin(start_ms)

    def poll(self) -> TickLine | None:
        """Return where the load stands, None before every sender has reported."""
        ticks = [tick for sender in self._senders if (tick := sender.poll()) is not None]
        return add_ticks(ticks) if len(ticks) == len(self._senders) else None

    @property
    def finished(self) -> bool:
        """Return whether the load is over and every record acknowledged or given up."""
        return all(sender.finished for sender in self._senders)

    def finish(self, timeout_s: float = _FLUSH_S) -> SenderSummary:
        """Wait for the end of the load, let the processes end and return its result."""
        # None ends before all are done: one that has ended looks like one that has died.
        sent = [sender.sent(timeout_s) for sender in self._senders]
        for sender in self._senders:
            sender.end(timeout_s)
        if self._driver is not None and not self._driver.wait(timeout_s):
            raise TrialInvalid(
                f"the Spark job of the senders did not end: {self._driver.failure()}"
            )
        return add_up(sent)

    def cut(self) -> SenderSummary:
        """End all processes in the middle of the load; return what they had reported."""
        tick = self.poll()
        self.stop()
        sent = 0 if tick is None else tick.sent
        return SenderSummary(
            senders=len(self._senders),
            due=0 if tick is None else tick.due,
            sent=sent,
            acknowledged=0 if tick is None else sent - tick.outstanding - tick.errors,
            errors=0 if tick is None else tick.errors,
            backpressure_s=0.0,
            send_lateness={},
            fifo=False,
            cpu_s=0.0,
            request={},
        )

    def failure(self) -> str | None:
        """Return why a sender ended, None while all run."""
        return next((why for sender in self._senders if (why := sender.failure())), None)

    def overrun(self) -> str | None:
        """Return why the engine cannot take what is offered; None as long as it can."""
        return next((why for sender in self._senders if (why := sender.overrun())), None)

    def stop(self) -> None:
        """End all processes at once, whatever they do."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def share_cpus(cpus: Sequence[int], senders: int) -> list[Sequence[int]]:
    """Give each sender CPUs that no other has; if there are too few, all share all of them."""
    if len(cpus) < senders:
        return [cpus] * senders
    return [cpus[number::senders] for number in range(senders)]


def add_up(parts: Sequence[Sent]) -> SenderSummary:
    """Add up the results of every sender's part."""
    lateness = Lateness()
    for part in parts:
        lateness.merge(part.lateness)
    return SenderSummary(
        senders=len(parts),
        due=sum(part.due for part in parts),
        sent=sum(part.sent for part in parts),
        acknowledged=sum(part.acknowledged for part in parts),
        errors=sum(part.errors for part in parts),
        backpressure_s=max(part.backpressure_s for part in parts),
        send_lateness=lateness.statistics(),
        fifo=all(part.fifo for part in parts),
        cpu_s=sum(part.cpu_s for part in parts),
        request=summarize(np.array([mean_s for part in parts for mean_s in part.requests_s])),
    )


def add_ticks(ticks: Sequence[TickLine]) -> TickLine:
    """Add up where every sender stands."""
    return TickLine(
        at_ms=max(tick.at_ms for tick in ticks),
        due=sum(tick.due for tick in ticks),
        sent=sum(tick.sent for tick in ticks),
        outstanding=sum(tick.outstanding for tick in ticks),
        errors=sum(tick.errors for tick in ticks),
    )


def _job(spec: TrialSpec, endpoints: Endpoints, folder: Path, *, pulse: bool) -> SenderJob:
    """Return the job that all senders share."""
    return SenderJob(
        spec=spec,
        endpoints=write_endpoints(endpoints),
        ticks=folder / "sender.parquet",
        pulse=pulse,
        payloads=folder / "payloads" if spec.load.source == "stream" else None,
    )


def _render(job: SenderJob, folder: Path) -> None:
    """Write the payloads once, for all senders."""
    path = folder / "render.json"
    path.write_text(job.model_dump_json(indent=1) + "\n", encoding="utf-8")
    command: list[str | Path] = [sys.executable, "-m", "streamgauge.load.render", path]
    with process.start(command, log=folder / "logs" / "render.log") as child:
        if not child.wait(_RENDER_S) or child.exit_code != 0:
            raise TrialInvalid(f"the payloads could not be written: {child.failure()}")
