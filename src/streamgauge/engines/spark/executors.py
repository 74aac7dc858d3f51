"""A job's executors: what its driver reports, and what this machine sees of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ValidationError

from streamgauge.engines.job import ProcessJob
from streamgauge.machine import is_here
from streamgauge.spec.jobs import Progress
from streamgauge.spec.trial import InstanceSeen

EXECUTORS = "executors.json"
_BACKEND = b"CoarseGrainedExecutorBackend"
_LOOKS = 5


class Told(BaseModel):
    """The content of the file that the driver writes whenever something has changed."""

    application: str
    executors: tuple[InstanceSeen, ...] = ()
    cpu_s: dict[str, float] = {}
    """CPU time of each executor's Java process, as it reports itself from another host."""


class ClusterJob:
    """A running job whose tasks are in executors of a cluster; its process is the driver."""

    def __init__(self, driver: ProcessJob, folder: Path, conf: Path) -> None:
        self._driver = driver
        self._told = folder / EXECUTORS
        self._conf = conf
        self._executors: set[int] = set()
        self._looks: dict[int, int] = {}
        """How often each other process was looked at; a young one may still become another."""

    def processes(self) -> Sequence[int]:
        """Return the process id of the driver."""
        return self._driver.processes()

    def instance_processes(self) -> Sequence[int]:
        """Return the process ids of the executors; none where some are on other hosts."""
        report = self._read()
        if report is None or not all(is_here(each.host) for each in report.executors):
            return []
        return self._find(report.application)

    def reported_cpu_s(self) -> float | None:
        """Return the CPU time that executors on other hosts have reported; None where none has."""
        report = self._read()
        return sum(report.cpu_s.values()) if report is not None and report.cpu_s else None

    def instances(self) -> Sequence[InstanceSeen]:
        """Return all executors that there have been."""
        report = self._read()
        return () if report is None else report.executors

    def failure(self) -> str | None:
        """Return why the job ended, log tail included, or None while it runs."""
        return self._driver.failure()

    def progress(self) -> Progress | None:
        """Return the newest report, None before the first."""
        return self._driver.progress()

    def stop(self) -> None:
        """Stop gracefully; executors end with their driver."""
        self._driver.stop()

    def kill(self) -> None:
        """Stop the driver at once."""
        self._driver.kill()

    def clean(self) -> None:
        """Remove what the job needs only while it runs, its secrets included."""
        self._driver.clean()
        shutil.rmtree(self._conf, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            self.clean()

    def _read(self) -> Told | None:
        try:
            return Told.model_validate_json(self._told.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def _find(self, application: str) -> list[int]:
        """Find them by their command lines, looking at each process only a few times."""
        there = {int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()}
        self._executors &= there
        self._looks = {pid: looks for pid, looks in self._looks.items() if pid in there}
        for pid in there - self._executors:
            looks = self._looks.get(pid, 0)
            if looks < _LOOKS and _is_executor(pid, application.encode()):
                self._executors.add(pid)
            self._looks[pid] = looks + 1
        return sorted(self._executors)


def _is_executor(pid: int, application: bytes) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return False
    return application in words and any(word.endswith(_BACKEND) for word in words)
