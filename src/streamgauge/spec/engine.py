"""What an engine promises: it runs a query as a job in processes of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, Self, runtime_checkable

from streamgauge.jobfile import JobSpec
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.jobs import Modes, Problem, Progress, Resources
from streamgauge.spec.trial import InstanceSeen


class Job(Protocol):
    """A running engine job; leaving the context stops it and cleans up."""

    def processes(self) -> Sequence[int]:
        """Return the process ids at the roots of the engine's process trees."""

    def failure(self) -> str | None:
        """Return why the job ended, log tail included, or None while it runs."""

    def stop(self) -> None:
        """Stop gracefully; what the job has stored stays, so that it can be started again."""

    def kill(self) -> None:
        """Stop at once; what the job has stored stays."""

    def clean(self) -> None:
        """Remove what the job needs only while it runs."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class ReportsProgress(Protocol):
    """Ability of a job: it reports which offsets are done."""

    def progress(self) -> Progress | None:
        """Return the newest report, None before the first."""


class Engine(Protocol):
    """A system under test."""

    name: ClassVar[str]
    answers: ClassVar[bool]
    """False for an engine that reads and drops."""
    jars: ClassVar[tuple[str, ...]]
    """Components of jars.lock that it may need, whatever it runs."""

    def check(self) -> list[Problem]:
        """Return what is missing on this machine; empty when ready."""

    def versions(self) -> Mapping[str, str]:
        """Return the versions of its components."""

    def resolve(self, job: JobSpec) -> JobSpec:
        """Fill in mode, trigger and settings; refuse what cannot be done with a UsageError."""

    def start(self, job: JobSpec, endpoints: Endpoints, resources: Resources, folder: Path) -> Job:
        """Start the job; its job file, log and progress go to `folder`."""


@runtime_checkable
class Fetches(Protocol):
    """Ability of an engine: it fetches what it needs before a run."""

    def fetch(self, jobs: Sequence[JobSpec], progress: Callable[[str], None]) -> None:
        """Fetch what these jobs need and is not there yet; NotReady when that is impossible."""


@runtime_checkable
class HasInstances(Protocol):
    """Ability of an engine: several instances do its work, as many as a trial asks for."""

    cluster: ClassVar[str]
    """Name of the service that runs them."""


@runtime_checkable
class TellsInstances(Protocol):
    """Ability of a job: it reports where its instances run."""

    def instance_processes(self) -> Sequence[int]:
        """Return the process ids of the instances; none where some are on other hosts."""

    def instances(self) -> Sequence[InstanceSeen]:
        """Return all instances that have existed."""

    def reported_cpu_s(self) -> float | None:
        """Return the CPU time that instances on other hosts have reported; None if none has."""


@runtime_checkable
class HasModes(Protocol):
    """Ability of an engine: it knows several ways to run a query."""

    def modes(self, workload: str, query: str) -> Modes:
        """Return the modes in which a query can be run; UsageError if it has no such query."""
