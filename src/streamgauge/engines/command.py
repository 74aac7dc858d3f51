"""The engine `command`: any program that is given the path of the job file."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from typing import ClassVar

from streamgauge.engines.plain import PlainEngine
from streamgauge.errors import NotReady, UsageError
from streamgauge.jobfile import JobSpec

_EXAMPLE = "Write it like -E command='python my_engine.py'."


class CommandEngine(PlainEngine):
    """Runs the user's own program as the system under test."""

    name: ClassVar[str] = "command"
    options: ClassVar[tuple[str, ...]] = ("command",)

    def argv(self, job: JobSpec) -> Sequence[str]:
        """Split the line into words."""
        try:
            argv = shlex.split(job.options.get("command", ""))
        except ValueError as error:
            raise UsageError(f"engine command: {error} in the command", _EXAMPLE) from error
        if not argv:
            raise UsageError("engine command: no command is given", _EXAMPLE)
        return argv

    def resolve(self, job: JobSpec) -> JobSpec:
        """Check that a program is named and can be found.

        Raises:
            UsageError: No program is named, or the line cannot be split into words.
            NotReady: There is no such program.
        """
        resolved = super().resolve(job)
        program = self.argv(job)[0]
        if shutil.which(program) is None:
            raise NotReady(f"engine command: there is no program {program!r}", _EXAMPLE)
        return resolved
