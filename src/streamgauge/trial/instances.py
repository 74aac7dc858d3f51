"""What an engine runs on in a trial: CPUs of this machine, or instances on a cluster."""

from __future__ import annotations

import os
from pathlib import Path

from streamgauge.machine import is_here
from streamgauge.planning import uneven
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.engine import Engine, Job, TellsInstances
from streamgauge.spec.jobs import Resources
from streamgauge.trial.bench import Announce, Bench, TrialState
from streamgauge.trial.cluster import look_at_clocks, look_at_hosts, told

_UNSEEN = (
    "the engine's CPU and memory on other hosts cannot be measured from here: cpu.engine and"
    " memory.engine are absent, cpu.engine.reported is what Java reports there about itself"
)


class Instances:
    """Decides what the engine may use, checks its cluster, and notes where its instances ran."""

    def __init__(self, state: TrialState, bench: Bench, engine: Engine | None) -> None:
        self._state = state
        self._bench = bench
        self._asked = state.spec.resources
        self._cpus = tuple(sorted(os.sched_getaffinity(0)))
        several = self._asked.instances is not None and engine is not None
        self._cluster = bench.cluster_of(engine) if several else None
        self._ours = self._cluster is not None and bool(self._cluster.members)

    def resources(self) -> Resources:
        """Return what the engine may use; warn where its instances have no CPUs of their own."""
        if self._cluster is None:
            return Resources(self._cpus[: self._asked.cores])
        if (warning := uneven(self._state.spec)) is not None:
            self._state.warnings.append(warning)
        if self._ours and self._pinned is None:
            self._state.warnings.append(
                f"{self._asked.told()}: this machine has only {len(self._cpus)} CPUs,"
                " so no instance has CPUs of its own"
            )
        return Resources(self._cpus, self._cluster.endpoint)

    def others_cpus(self) -> tuple[int, ...]:
        """Return the CPUs that the engine does not have; none where it may have them all."""
        return self._cpus[self._pinned :] if self._pinned else ()

    def look(self, endpoints: Endpoints, announce: Announce) -> None:
        """Check that a given cluster can do what the trial needs, and compare clocks."""
        if self._cluster is not None and not self._ours:
            spark, where = self._bench.spark(), self._cluster.endpoint
            self._keep(look_at_hosts(spark, where, endpoints, self._state.job), announce)
            if not all(map(is_here, self._state.clock_offsets_s)):
                announce({"note": _UNSEEN})

    def look_again(self, endpoints: Endpoints, announce: Announce) -> None:
        """Compare clocks once more, when the trial is over."""
        if self._cluster is not None and not self._ours:
            spark, where = self._bench.spark(), self._cluster.endpoint
            self._keep(look_at_clocks(spark, where, endpoints, self._state.job), announce)

    def note(self, job: Job) -> None:
        """Keep where the instances ran, and warn of those that were lost."""
        if not isinstance(job, TellsInstances):
            return
        self._state.instances = list(job.instances())
        for each in self._state.instances:
            if each.lost_ms is not None:
                self._state.warnings.append(
                    f"instance {each.name} of the engine on {each.host} was lost:"
                    f" {each.reason or 'no reason is known'}"
                )

    def collect_logs(self, folder: Path) -> None:
        """Copy the logs of the instances, where we can."""
        for service in self._bench.services.values():
            if service.collect is not None:
                service.collect(folder)

    @property
    def _pinned(self) -> int | None:
        """How many CPUs of this machine are the engine's, or its instances'; None for any."""
        if self._asked.instances is None:
            return self._asked.cores
        wanted = self._asked.instances * self._asked.instance_cores
        return wanted if self._ours and wanted <= len(self._cpus) else None

    def _keep(self, offsets_s: dict[str, float], announce: Announce) -> None:
        known = self._state.clock_offsets_s
        for host, offset_s in offsets_s.items():
            known[host] = max(offset_s, known.get(host, 0.0), key=abs)
        worst_s = max(known.values(), key=abs)
        self._state.clock_offset_s = max(worst_s, self._state.clock_offset_s or 0.0, key=abs)
        announce({"note": f"clocks of the cluster's hosts: {told(offsets_s)}"})
