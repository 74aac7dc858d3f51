"""What engines that are one process, without modes and triggers, have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from streamgauge.engines.job import ProcessJob, start_job
from streamgauge.errors import UsageError, unknown_name
from streamgauge.jobfile import JobSpec
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.jobs import Problem, Resources


class PlainEngine(ABC):
    """An engine of one process; define `name` and `argv`, and which options it knows."""

    name: ClassVar[str]
    answers: ClassVar[bool] = True
    jars: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[tuple[str, ...]] = ()
    """Names of the options that `-E` may set."""

    @abstractmethod
    def argv(self, job: JobSpec) -> Sequence[str]:
        """Return the program and its arguments; the path of the job file comes after them."""

    def check(self) -> list[Problem]:
        """Find no problem on any machine."""
        return []

    def versions(self) -> Mapping[str, str]:
        """Return no versions: it is a part of this package, or a program of the user's."""
        return {}

    def resolve(self, job: JobSpec) -> JobSpec:
        """Refuse options that it does not know, and modes and triggers: it has none.

        Raises:
            UsageError: Names the option and the known ones.
        """
        for option in job.options:
            if option not in self.options:
                raise unknown_name(f"option of engine {self.name}", option, self.options)
        if job.mode not in (None, "plain"):
            raise UsageError(f"engine {self.name} has no mode {job.mode!r}", "Leave out the mode.")
        if job.trigger_s is not None:
            raise UsageError(f"engine {self.name} has no trigger", "Leave out the trigger.")
        return replace(job, mode="plain", settings=dict(job.options))

    def start(
        self, job: JobSpec, endpoints: Endpoints, resources: Resources, folder: Path
    ) -> ProcessJob:
        """Start the process."""
        return start_job(self.argv(job), job, endpoints, resources, folder)
