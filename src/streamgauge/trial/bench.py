"""What the trials of a run share, and what is known of one trial so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.jobfile import JobSpec
from streamgauge.load.protocol import SenderSummary
from streamgauge.measure.verdicts import Drain
from streamgauge.probes.sampler import Row
from streamgauge.services.running import RunningService
from streamgauge.spec.endpoints import Endpoint, Services
from streamgauge.spec.engine import Engine, HasInstances
from streamgauge.spec.progress import FinishedBatch
from streamgauge.spec.trial import InstanceSeen, Status, TrialSpec
from streamgauge.spec.values import Json, Span
from streamgauge.trial.watch import Clock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamgauge.validation.validator import Validation

Event = Mapping[str, Json]
Announce = Callable[[Event], None]


@dataclass(frozen=True)
class Bench:
    """The services, the validator's Spark session and the folders that trials share."""

    services: Mapping[str, RunningService[Endpoint]]
    """By name."""
    spark: Callable[[], SparkSession]
    """Starts the session that validates and makes data, if there is none yet."""
    cache: Path
    """Where generated business data are kept."""
    prefix: str
    """Beginning of the names of all streams of the run."""
    clock: Clock = field(default_factory=Clock)
    release: Callable[[], None] = lambda: None
    """Ends that session where it is on a cluster, which an engine's job needs for itself."""

    def cluster_of(self, engine: Engine | None) -> RunningService[Endpoint] | None:
        """Return what runs an engine's instances; None for an engine in one process."""
        return self.services.get(engine.cluster) if isinstance(engine, HasInstances) else None

    @property
    def endpoints(self) -> Services:
        """Return where the services are."""
        return {name: service.endpoint for name, service in self.services.items()}

    def told(self) -> dict[str, RunningService[Endpoint]]:
        """Return the services as messages name them: by role, with their name if roles repeat."""
        roles = Counter(service.role for service in self.services.values())
        return {
            service.role if roles[service.role] == 1 else f"{service.role} {name}": service
            for name, service in self.services.items()
        }

    def processes(self) -> dict[str, Callable[[], Sequence[int]]]:
        """Return what finds the processes of each role; several services may share one."""
        roles = {service.role for service in self.services.values()}
        return {role: partial(self._processes_of, role) for role in roles}

    def _processes_of(self, role: str) -> list[int]:
        services = (each for each in self.services.values() if each.role == role)
        return [pid for service in services for pid in service.processes()]


@dataclass
class TrialState:
    """What is known of a trial so far; a trial that breaks off leaves the rest open."""

    spec: TrialSpec
    resolved: JobSpec | None = None
    """The job as the engine resolved it; None for a trial without an engine."""
    status: Status = "done"
    cause: str | None = None
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    phases: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    measured: Span | None = None
    cut_s: float | None = None
    """After how many seconds of the measured time it was cut short."""
    sender: SenderSummary | None = None
    drain: Drain = field(default_factory=lambda: Drain(None))
    clock_moved_s: float = 0.0
    clock_offset_s: float | None = None
    """The greatest to a given service; None when all share this machine's clock."""
    clock_offsets_s: dict[str, float] = field(default_factory=dict)
    """Of each host of a given cluster, the greater of before and after."""
    checkpoints_ms: list[int] = field(default_factory=list)
    batches: list[FinishedBatch] = field(default_factory=list)
    """What the engine reported as finished, where it does."""
    timeline: list[Row] = field(default_factory=list)
    validation: Validation | None = None
    topics: dict[str, str] = field(default_factory=dict)
    instances: list[InstanceSeen] = field(default_factory=list)

    @property
    def job(self) -> JobSpec:
        """The job of a trial that has an engine."""
        assert self.resolved is not None, "a trial without an engine has no job"
        return self.resolved
