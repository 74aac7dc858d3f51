"""The engine `noop`: reads and drops, to find the harness's own ceiling on this machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from streamgauge import registry
from streamgauge.engines import job as jobs
from streamgauge.engines.consuming import Reporter, stop_on_sigterm
from streamgauge.engines.options import check_options
from streamgauge.jobfile import ProgressWriter
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.engine import JobSpec, Problem, Resources


class NoopEngine:
    """Reads all inputs and answers nothing."""

    name: ClassVar[str] = "noop"
    answers: ClassVar[bool] = False
    jars: ClassVar[tuple[str, ...]] = ()

    def check(self) -> list[Problem]:
        """Tell what is missing on this machine: nothing ever is."""
        return []

    def versions(self) -> Mapping[str, str]:
        """Return nothing: it is a part of this package."""
        return {}

    def resolve(self, job: JobSpec) -> JobSpec:
        """Refuse options: there are none."""
        check_options(self.name, job, ())
        return replace(job, mode="plain")

    def start(
        self, job: JobSpec, endpoints: Endpoints, resources: Resources, folder: Path
    ) -> jobs.ProcessJob:
        """Start the reader's process."""
        argv = [sys.executable, "-m", "streamgauge.engines.noop"]
        return jobs.start_job(argv, job, endpoints, resources, folder)


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
