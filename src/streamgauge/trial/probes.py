"""The probes of a trial: what each role uses, how far the engine is, how old its outputs are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from streamgauge.probes.processes import RoleUsage
from streamgauge.probes.sampler import Probe
from streamgauge.probes.system import SystemUsage
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.engine import Job, TellsInstances
from streamgauge.spec.query import Query
from streamgauge.spec.transport import Channel

if TYPE_CHECKING:
    from streamgauge.load.senders import Senders
    from streamgauge.trial.drain import Finished


DRIVER = "engine.driver"
"""Role of the process that directs an engine's instances."""


REPORTED = "cpu.engine.reported"


def trial_probes(
    query: Query,
    endpoints: Endpoints,
    channel: Channel,
    roots: Mapping[str, Callable[[], Sequence[int]]],
    finished: Callable[[], Finished],
    sender: Senders,
) -> dict[str, Probe]:
    """Return the probes of one trial by name."""
    usage = RoleUsage()

    def roles(at_s: float) -> Mapping[str, float]:
        pids = {role: list(find()) for role, find in roots.items()}
        return with_driver(usage.sample({**pids, "harness": [os.getpid()]}, at_s))

    return {
        "roles": roles,
        "system": SystemUsage().sample,
        "sent": lambda _: _sent(sender),
        "offsets": lambda _: _offsets(endpoints, channel, finished),
        "newest": lambda _: _newest(query, endpoints, channel),
    }


def engine_processes(job: Job) -> dict[str, Callable[[], Sequence[int]]]:
    """Return what finds the processes of an engine by role."""
    if not isinstance(job, TellsInstances):
        return {"engine": job.processes}
    return {"engine": job.instance_processes, DRIVER: job.processes}


def all_processes(job: Job) -> list[int]:
    """Return the process ids at the roots of all of an engine's process trees."""
    return [pid for find in engine_processes(job).values() for pid in find()]


class ReportedCpu:
    """Turns the CPU time that an engine's instances report into cores since the last sample."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._last: tuple[float, float] | None = None

    def sample(self, at_s: float) -> Mapping[str, float]:
        """Return these cores; nothing where nothing is reported."""
        if not isinstance(self._job, TellsInstances):
            return {}
        cpu_s, last = self._job.reported_cpu_s(), self._last
        self._last = None if cpu_s is None else (at_s, cpu_s)
        if cpu_s is None or last is None or at_s <= last[0]:
            return {}
        return {REPORTED: max(0.0, cpu_s - last[1]) / (at_s - last[0])}


def with_driver(row: dict[str, float]) -> dict[str, float]:
    """Count the driver's share as the engine's as well, where its instances are seen.

    The engine's total use is unknown where some of them are on other hosts.
    """
    parts = {name: value for name, value in row.items() if name.endswith(f".{DRIVER}")}
    for name, value in parts.items():
        whole = f"{name.partition('.')[0]}.engine"
        if whole in row:
            row[whole] += value
    return row


def _sent(sender: Senders) -> Mapping[str, float]:
    tick = sender.poll()
    return {} if tick is None else {"due": tick.due, "sent": tick.sent}


def _offsets(
    endpoints: Endpoints, channel: Channel, finished: Callable[[], Finished]
) -> Mapping[str, float]:
    """Return log end and finished work, in records over all input partitions."""
    done = finished()
    row = {"log_end": float(sum(sum(channel.log_end(t)) for t in endpoints.inputs.values()))}
    row["log_end_at"] = time.time()  # later than the row where the machine is busy
    if (handed := channel.handed()) is not None:
        row["handed"] = float(handed)
    if done:
        row["finished"] = float(sum(done.values()))
    return row


def _newest(query: Query, endpoints: Endpoints, channel: Channel) -> Mapping[str, float]:
    """Return the age of the newest output: a sample, only for the live view."""
    if endpoints.output is None or query.sample is None:
        return {}
    newest = channel.newest(endpoints.output)
    return {} if newest is None else {"newest_latency": query.sample(*newest)}
