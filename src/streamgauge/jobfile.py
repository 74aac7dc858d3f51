"""The job file: what an engine's process needs to know. Needs the standard library alone.

The harness writes it and starts the process with its path as last argument. An engine that lives in
another environment imports this module and nothing else of ours, or reads the JSON itself.

Secrets are not in it: they come by environment variables, named by a rule. The password of the
service `postgres` is in `STREAMGAUGE_POSTGRES_PASSWORD`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

VERSION = 5
"""Raised with every change of the fields."""
JOB = "job.json"
PROGRESS = "progress.jsonl"
SCRATCH = "scratch"
PLAN = "plan.txt"
"""Names in the folder of a trial."""

Fields = Mapping[str, Any]
"""An endpoint in the file: its fields without secrets."""


class JobFileError(ValueError):
    """The file is missing, or is not a job file of this version."""


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """One query for one engine to run; `Engine.resolve` fills in what was left open."""

    workload: str
    query: str
    parameters: Mapping[str, Any]
    partitions: int
    """Of each input stream, and of the output."""
    seed: int
    options: Mapping[str, str]
    """The user's `-E key=value`, checked by `resolve`."""
    transport: str = "kafka"
    """How records reach the engine and come back."""
    cores: int | None = None
    """How many CPUs of this machine the engine may use, in one process; None for all."""
    instances: int | None = None
    """How many instances do the engine's work; None for one process."""
    instance_cores: int = 1
    """CPUs that each instance may use."""
    instance_memory: int = 2 << 30
    """Bytes of memory of each instance."""
    instance_slots: int | None = None
    """Tasks that each instance must run at once; None without instances."""
    checkpoint: str | None = None
    """URI of a folder for what the engine stores, which all instances share; None for `scratch`."""
    least_rate: float = 0.0
    """Records per second of each partition in the slowest second of the load, as planned."""
    quarter_records: int = 0
    """Records of each stream in the emptiest quarter of a window, as planned; 0 for a query that
    does not read what it writes."""
    mode: str | None = None
    trigger_s: float | None = None
    """The requested trigger interval; None for as fast as possible."""
    watermark_delay_ms: int = 0
    """How long the engine keeps a window open beyond its end."""
    closed_by_records: bool = False
    """Whether a window is only emitted after the first record of the next window in every
    partition, since no watermark passes in time. Then the load may have no gaps, and markers are
    also sent before and after it."""
    checkpoint_s: float | None = None
    """Interval of checkpoints that each cause a gap in the output; None if they cause none."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The engine's settings in force, as they are reported with the result."""


@dataclass(frozen=True, kw_only=True)
class JobFile(JobSpec):
    """The content of the file: the job, where its records and services are, where to report."""

    version: int = VERSION
    via: Fields
    """What carries the records: the broker, for the transport `kafka`."""
    inputs: Mapping[str, str]
    """Topic of each input stream; other transports have names of their own kind."""
    configuration: Mapping[str, str] = field(default_factory=dict)
    """The same for streams that were sent as a whole before the load."""
    internal: Mapping[str, str] = field(default_factory=dict)
    """The same for streams that the query writes and reads itself."""
    output: str | None
    """The same for the output; None for a query that writes to a service."""
    group: str
    """Consumer group to which the engine may commit its offsets."""
    services: Mapping[str, Fields] = field(default_factory=dict)
    """Where the services that the query uses are, by name."""
    cpus: Sequence[int] = ()
    """Numbers of the CPUs that the process is pinned to."""
    progress: str
    """File to which the engine reports, one line of JSON at a time; see `ProgressWriter`."""
    scratch: str
    """Folder for what the engine needs only while it runs; it may not exist yet."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file back.

        Raises:
            JobFileError: It is missing, or does not say what was expected.
        """
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise JobFileError(f"cannot read the job file {path}: {error}") from error
        if not isinstance(content, dict) or content.get("version") != VERSION:
            found = content.get("version") if isinstance(content, dict) else None
            raise JobFileError(
                f"cannot read the job file {path}: its version is {found}, not {VERSION}"
            )
        try:
            return cls(**content)
        except TypeError as error:  # a field that is missing, or unknown
            raise JobFileError(f"cannot read the job file {path}: {error}") from error

    def write(self, path: Path) -> None:
        """Write the file."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n", encoding="utf-8")

    @property
    def job(self) -> JobSpec:
        """Return what is to be run, without any locations."""
        names = [each.name for each in dataclasses.fields(JobSpec)]
        return JobSpec(**{name: getattr(self, name) for name in names})


def variable(service: str, what: str = "") -> str:
    """Name the environment variable of a service: of its address, or of another of its values."""
    words = ("STREAMGAUGE", *service.replace("-", "_").split("_"), *([what] if what else ()))
    return "_".join(words).upper()


def secret(service: str, what: str = "password", environ: Mapping[str, str] = os.environ) -> str:
    """Return a secret of a service, empty where it has none."""
    return environ.get(variable(service, what), "")


class ProgressWriter:
    """Appends reports to the progress file, from inside the engine's process."""

    def __init__(self, path: str | Path, clock: Callable[[], float] = time.time) -> None:
        self._file = Path(path).open("a", buffering=1, encoding="utf-8")  # noqa: SIM115 - see close
        self._clock = clock

    def report(
        self,
        finished: Mapping[str, Sequence[int]],
        idle: bool,
        *,
        batch: Mapping[str, Any] | None = None,
        gc_ms: int | None = None,
    ) -> None:
        """Append one report.

        Args:
            finished: Next offset to be read in every partition of each stream.
            idle: Whether there was nothing left to do.
            batch: The batch that has just finished: `began_ms` (epoch), `took_ms`, and where they
                are known `phases` (milliseconds by name), `records`, `dropped`, `state_rows`
                and `state_bytes`.
            gc_ms: Time spent on garbage collection since the engine's start, in milliseconds.
        """
        line: dict[str, Any] = {"at": self._clock(), "finished": dict(finished), "idle": idle}
        more = {"batch": None if batch is None else dict(batch), "gc_ms": gc_ms}
        line |= {name: value for name, value in more.items() if value is not None}
        self._file.write(json.dumps(line) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
