"""The engine `noop`: reads and drops, to find the harness's own ceiling on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from streamgauge import registry
from streamgauge.engines import job as jobs
from streamgauge.engines.consuming import Reporter, stop_on_sigterm
from streamgauge.engines.plain import PlainEngine
from streamgauge.jobfile import JobSpec, ProgressWriter


class NoopEngine(PlainEngine):
    """Reads all inputs and answers nothing."""

    name: ClassVar[str] = "noop"
    answers: ClassVar[bool] = False

    def argv(self, job: JobSpec) -> Sequence[str]:  # noqa: ARG002 - the same for all jobs
        """Run this file."""
        return [sys.executable, "-m", "streamgauge.engines.noop"]


def main(argv: list[str]) -> None:
    """Read and drop until SIGTERM."""
    stopped = stop_on_sigterm()
    job, endpoints = jobs.read(Path(argv[1]))
    transport = registry.transport(endpoints.transport)
    with ProgressWriter(job.progress) as writer, transport.reader(endpoints) as inputs:
        reporter = Reporter(writer)
        while not stopped.is_set():
            idle = not len(inputs.read())
            if reporter.due(idle):
                reporter.report(inputs.positions(), idle)


if __name__ == "__main__":
    main(sys.argv)
