"""The job file: how the harness and an engine's process understand each other.

The harness writes the file and starts the process with the file's path as last argument; the
process reads it and appends its progress to the file named there. Secrets travel by environment.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from streamgauge import process
from streamgauge.errors import NotReady, TrialFailed
from streamgauge.spec.addresses import FLIGHT_TOKEN, POSTGRES_PASSWORD, parse_flight, parse_kafka
from streamgauge.spec.endpoints import PostgresEndpoint
from streamgauge.spec.engine import JobSpec, Progress, Resources
from streamgauge.spec.progress import BatchReport
from streamgauge.spec.transport import Endpoints
from streamgauge.spec.values import Json

SCRATCH = "scratch"
"""Folder beside the job file for what an engine needs only while it runs."""
PROGRESS = "progress.jsonl"
"""File beside the job file to which an engine reports."""


class _Kafka(BaseModel):
    bootstrap: str


class _Flight(BaseModel):
    address: str


class _Postgres(BaseModel):
    host: str
    port: int
    database: str
    user: str
    schema_name: str = Field(alias="schema")


class _JobFile(BaseModel):
    """The job file's content, field by field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workload: str
    query: str
    parameters: dict[str, JsonValue]
    partitions: int
    seed: int
    mode: str | None
    options: dict[str, str]
    trigger_s: float | None
    watermark_delay_ms: int
    settings: dict[str, str]
    kafka: _Kafka | None
    flight: _Flight | None
    inputs: dict[str, str]
    output: str | None
    group: str
    postgres: _Postgres | None
    progress: Path
    cpus: list[int]


class _ProgressLine(BaseModel):
    """One line of the progress file; an engine may add what it likes."""

    at: float
    finished: dict[str, list[int]]
    idle: bool


class _BatchLine(BaseModel):
    """The same, of a batch that has just finished."""

    at: float
    batch: BatchReport


def write(
    path: Path, job: JobSpec, endpoints: Endpoints, resources: Resources, progress: Path
) -> None:
    """Write the job file; no secret goes into it."""
    content = {
        "workload": job.workload,
        "query": job.query,
        "parameters": dict(job.parameters),
        "partitions": job.partitions,
        "seed": job.seed,
        "mode": job.mode,
        "options": dict(job.options),
        "trigger_s": job.trigger_s,
        "watermark_delay_ms": job.watermark_delay_ms,
        "settings": dict(job.settings),
        "kafka": {"bootstrap": endpoints.kafka.bootstrap} if endpoints.kafka else None,
        "flight": {"address": endpoints.flight.address} if endpoints.flight else None,
        "inputs": dict(endpoints.inputs),
        "output": endpoints.output,
        "group": endpoints.group,
        "postgres": _address(endpoints.postgres),
        "progress": str(progress.absolute()),
        "cpus": list(resources.cpus),
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read(path: Path, environ: Mapping[str, str] = os.environ) -> tuple[JobSpec, Endpoints, Path]:
    """Read the job file back, with the secrets from the environment, and the progress file's path.

    Raises:
        NotReady: The file is missing or says something else than expected.
    """
    try:
        file = _JobFile.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise NotReady(f"cannot read the job file {path}: {error}") from error
    job = JobSpec(
        workload=file.workload,
        query=file.query,
        parameters=file.parameters,
        partitions=file.partitions,
        seed=file.seed,
        options=file.options,
        transport="flight" if file.flight else "kafka",
        mode=file.mode,
        trigger_s=file.trigger_s,
        watermark_delay_ms=file.watermark_delay_ms,
        settings=file.settings,
    )
    endpoints = Endpoints(
        kafka=parse_kafka(file.kafka.bootstrap, environ) if file.kafka else None,
        flight=parse_flight(file.flight.address, environ) if file.flight else None,
        inputs=file.inputs,
        output=file.output,
        partitions=file.partitions,
        group=file.group,
        postgres=_with_password(file.postgres, environ),
    )
    return job, endpoints, file.progress


def start_job(
    argv: Sequence[str | Path],
    job: JobSpec,
    endpoints: Endpoints,
    resources: Resources,
    folder: Path,
    env: Mapping[str, str] | None = None,
) -> ProcessJob:
    """Start an engine's process; the job file's path becomes its last argument.

    Writes `folder/job.json`; the process logs to `folder/logs/engine.log` and reports to
    `folder/progress.jsonl`. What it puts into `folder/scratch` is there for a job that is started
    again in the same folder, and goes when the job is cleaned up.
    """
    path, progress = folder / "job.json", folder / PROGRESS
    write(path, job, endpoints, resources, progress)
    position = _end_of_reports(progress)
    child = process.start(
        [*argv, path.absolute()],
        log=folder / "logs" / "engine.log",
        env={**_secrets(endpoints), **(env or {})},
        affinity=resources.cpus,
    )
    return ProcessJob(child, progress, folder / SCRATCH, position)


def _end_of_reports(progress: Path) -> int:
    """Return where the reports of a job before end, without the line that it was killed over."""
    try:
        with progress.open("rb+") as file:
            end = file.read().rfind(b"\n") + 1
            file.truncate(end)
            return end
    except FileNotFoundError:
        return 0


class ProcessJob:
    """A running engine job that is one process, with whatever it starts."""

    def __init__(
        self, child: process.Process, progress: Path, scratch: Path, position: int
    ) -> None:
        self._child = child
        self._scratch = scratch
        self._progress = progress
        self._position = position
        self._newest: Progress | None = None

    def processes(self) -> Sequence[int]:
        """Return the process id at the root of the engine's process tree."""
        return [self._child.pid]

    def failure(self) -> str | None:
        """Tell why the job ended, log tail included, or None while it runs."""
        return None if self._child.alive else self._child.failure()

    def progress(self) -> Progress | None:
        """Return the newest report, None before the first.

        Raises:
            TrialFailed: The engine wrote something that is no report.
        """
        line = self._newest_line()
        if line is not None:
            self._newest = _parse_progress(line, self._progress)
        return self._newest

    def stop(self) -> None:
        """Stop with grace."""
        self._child.stop()

    def kill(self) -> None:
        """Stop at once."""
        self._child.kill()

    def clean(self) -> None:
        """Remove what the job needs only while it runs, its checkpoints among it."""
        # A process that was killed a moment ago may still hold on to something.
        shutil.rmtree(self._scratch, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            self.clean()

    def _newest_line(self) -> bytes | None:
        """Read on to the end of the last complete line; the engine may be writing the next."""
        try:
            with self._progress.open("rb") as file:
                file.seek(self._position)
                new = file.read()
        except FileNotFoundError:
            return None
        complete, newline, _ = new.rpartition(b"\n")
        self._position += len(complete) + len(newline)
        return complete.rpartition(b"\n")[2] if newline else None


class ProgressWriter:
    """Appends reports to the progress file, from inside the engine's process."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = path.open("a", buffering=1, encoding="utf-8")
        self._clock = clock

    def report(
        self,
        finished: Mapping[str, Sequence[int]],
        idle: bool,
        *,
        batch: BatchReport | None = None,
        gc_ms: int | None = None,
    ) -> None:
        """Append one report.

        Args:
            finished: Next offset to be read of every partition of each stream.
            idle: Nothing was left to do just now.
            batch: The batch that has just finished.
            gc_ms: How long garbage was collected since the engine's start, in milliseconds.
        """
        line: dict[str, object] = {"at": self._clock(), "finished": dict(finished), "idle": idle}
        if batch is not None:
            line["batch"] = batch.model_dump(exclude_none=True)
        if gc_ms is not None:
            line["gc_ms"] = gc_ms
        self._file.write(json.dumps(line) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def finished_batches(progress: Path) -> list[float]:
    """Return when the engine reported a batch as finished, epoch seconds.

    A line that a killed engine left incomplete counts for nothing.
    """
    try:
        lines = progress.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        if b'"batch"' in line:
            with suppress(ValidationError):
                found.append(_BatchLine.model_validate_json(line).at)
    return found


def _parse_progress(line: bytes, path: Path) -> Progress:
    try:
        report = _ProgressLine.model_validate_json(line)
    except ValidationError as error:
        raise TrialFailed(f"the engine wrote no valid report to {path}: {error}") from error
    finished = {
        (stream, partition): offset
        for stream, offsets in report.finished.items()
        for partition, offset in enumerate(offsets)
    }
    return Progress(finished=finished, idle=report.idle, at=report.at)


def _address(postgres: PostgresEndpoint | None) -> Json:
    if postgres is None:
        return None
    return {
        "host": postgres.host,
        "port": postgres.port,
        "database": postgres.database,
        "user": postgres.user,
        "schema": postgres.schema,
    }


def _secrets(endpoints: Endpoints) -> dict[str, str]:
    """Return what the process must know and no file may say."""
    password = endpoints.postgres.password if endpoints.postgres else None
    token = endpoints.flight.token if endpoints.flight else None
    secrets = {POSTGRES_PASSWORD: password, FLIGHT_TOKEN: token}
    return {name: secret for name, secret in secrets.items() if secret}


def _with_password(
    address: _Postgres | None, environ: Mapping[str, str]
) -> PostgresEndpoint | None:
    if address is None:
        return None
    return PostgresEndpoint(
        host=address.host,
        port=address.port,
        database=address.database,
        user=address.user,
        schema=address.schema_name,
        password=environ.get(POSTGRES_PASSWORD, ""),
    )
