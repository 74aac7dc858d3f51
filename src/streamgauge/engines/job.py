"""A job as the harness sees it: it writes the job file, starts the process, reads its reports."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ValidationError

from streamgauge import process
from streamgauge.errors import NotReady, TrialFailed
from streamgauge.jobfile import JOB, PROGRESS, SCRATCH, JobFile, JobFileError, JobSpec
from streamgauge.services.endpoints import read_endpoints, secrets_of, write_endpoints
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.jobs import Progress, Resources
from streamgauge.spec.progress import FinishedBatch
from streamgauge.spec.reading import first_fault


class _ProgressLine(BaseModel):
    """One line of the progress file; an engine may add fields."""

    at: float
    finished: dict[str, list[int]]
    idle: bool


def job_file(job: JobSpec, endpoints: Endpoints, resources: Resources, folder: Path) -> JobFile:
    """Return the content of the job file, which contains no secret."""
    where = write_endpoints(endpoints)
    del where["transport"], where["partitions"]  # they are fields of the job
    return JobFile(
        **{each.name: getattr(job, each.name) for each in fields(JobSpec)},
        **where,
        cpus=list(resources.cpus),
        progress=str((folder / PROGRESS).absolute()),
        scratch=str((folder / SCRATCH).absolute()),
    )


def read(path: Path, environ: Mapping[str, str] = os.environ) -> tuple[JobFile, Endpoints]:
    """Read the job file back; return it, and the endpoints with secrets from the environment.

    Raises:
        NotReady: The file is missing or has unexpected content.
    """
    try:
        file = JobFile.read(path)
    except JobFileError as error:
        raise NotReady(str(error)) from error
    return file, read_endpoints(asdict(file), environ)


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
    path, progress = folder / JOB, folder / PROGRESS
    job_file(job, endpoints, resources, folder).write(path)
    position = _end_of_reports(progress)
    child = process.start(
        [*argv, path.absolute()],
        log=folder / "logs" / "engine.log",
        env={**secrets_of(endpoints), **(env or {})},
        affinity=resources.cpus,
    )
    return ProcessJob(child, progress, folder / SCRATCH, position)


def _end_of_reports(progress: Path) -> int:
    """Return where the reports of a job before end, without the line that it was killed in."""
    try:
        with progress.open("rb+") as file:
            end = file.read().rfind(b"\n") + 1
            file.truncate(end)
            return end
    except FileNotFoundError:
        return 0


class ProcessJob:
    """A running engine job that is one process, with its children."""

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
        """Return why the job ended, log tail included, or None while it runs."""
        return None if self._child.alive else self._child.failure()

    def progress(self) -> Progress | None:
        """Return the newest report, None before the first.

        Raises:
            TrialFailed: The engine wrote something that is not a report.
        """
        line = self._newest_line()
        if line is not None:
            self._newest = _parse_progress(line, self._progress)
        return self._newest

    def stop(self) -> None:
        """Stop gracefully."""
        self._child.stop()

    def kill(self) -> None:
        """Stop at once."""
        self._child.kill()

    def clean(self) -> None:
        """Remove what the job needs only while it runs, its checkpoints included."""
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


def finished_batches(progress: Path) -> list[FinishedBatch]:
    """Return the batches that the engine reported as finished, and when, in epoch seconds.

    A line that a killed engine left incomplete is ignored.
    """
    try:
        lines = progress.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        if b'"batch"' in line:
            with suppress(ValidationError):
                found.append(FinishedBatch.model_validate_json(line))
    return found


def _parse_progress(line: bytes, path: Path) -> Progress:
    try:
        report = _ProgressLine.model_validate_json(line)
    except ValidationError as error:
        raise TrialFailed(
            f"the engine wrote no valid report to {path}: {first_fault(error)}"
        ) from error
    finished = {
        (stream, partition): offset
        for stream, offsets in report.finished.items()
        for partition, offset in enumerate(offsets)
    }
    return Progress(finished=finished, idle=report.idle, at=report.at)
