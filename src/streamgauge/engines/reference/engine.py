"""Starts the engine `reference`, and refuses faults that a query cannot have."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import ClassVar

from streamgauge import registry
from streamgauge.engines.plain import PlainEngine
from streamgauge.engines.reference.faults import Fault
from streamgauge.jobfile import JobSpec


class ReferenceEngine(PlainEngine):
    """Sends right answers, and a wrong one with `-E fault=NAME[:OUTPUT]`."""

    name: ClassVar[str] = "reference"
    options: ClassVar[tuple[str, ...]] = ("fault",)

    def argv(self, job: JobSpec) -> Sequence[str]:  # noqa: ARG002 - the same for all jobs
        """Run the file next to this one."""
        return [sys.executable, "-m", "streamgauge.engines.reference.job"]

    def resolve(self, job: JobSpec) -> JobSpec:
        """Check the options.

        Raises:
            UsageError: There is no such option or fault, or the workload has no answers for us.
        """
        resolved = super().resolve(job)
        registry.implementation(job.workload, self.name)
        Fault.of(job, registry.load("workloads", job.workload).queries[job.query])
        return resolved
