"""The engine `command`: any program that is given the path of the job file."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from streamgauge.engines.job import ProcessJob, start_job
from streamgauge.engines.options import check_options
from streamgauge.errors import NotReady, UsageError
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.engine import JobSpec, Problem, Resources

_EXAMPLE = "Give it like this: -E command='python my_engine.py'."


class CommandEngine:
    """Runs the user's own program as the system under test."""

    name: ClassVar[str] = "command"
    answers: ClassVar[bool] = True
    jars: ClassVar[tuple[str, ...]] = ()

    def check(self) -> list[Problem]:
        """Tell what is missing on this machine: that depends on the program alone."""
        return []

    def versions(self) -> Mapping[str, str]:
        """Return nothing: what the program is made of is its own matter."""
        return {}

    def resolve(self, job: JobSpec) -> JobSpec:
        """Check that a program is named and can be found.

        Raises:
            UsageError: No program is named, or the line cannot be split into words.
            NotReady: There is no such program.
        """
        check_options(self.name, job, ("command",))
        program = _argv(job)[0]
        if shutil.which(program) is None:
            raise NotReady(f"engine command: there is no program {program!r}", _EXAMPLE)
        return replace(job, mode="plain", settings={"command": job.options["command"]})

    def start(
        self, job: JobSpec, endpoints: Endpoints, resources: Resources, folder: Path
    ) -> ProcessJob:
        """Start the program."""
        return start_job(_argv(job), job, endpoints, resources, folder)


def _argv(job: JobSpec) -> list[str]:
    try:
        argv = shlex.split(job.options.get("command", ""))
    except ValueError as error:
        raise UsageError(f"engine command: {error} in the command", _EXAMPLE) from error
    if not argv:
        raise UsageError("engine command: no command is given", _EXAMPLE)
    return argv
