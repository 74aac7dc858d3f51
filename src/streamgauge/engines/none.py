"""The engine `none`: nobody reads, so that the broker alone is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from streamgauge.engines.options import check_options
from streamgauge.errors import UsageError
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.engine import Job, JobSpec, Problem, Resources
from streamgauge.spec.trial import NO_ENGINE


class NoEngine:
    """No engine at all: for the experiments broker and append-time."""

    name: ClassVar[str] = NO_ENGINE
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
        return job

    def start(  # an engine's duty, which this one cannot do
        self,
        job: JobSpec,
        endpoints: Endpoints,  # noqa: ARG002
        resources: Resources,  # noqa: ARG002
        folder: Path,  # noqa: ARG002
    ) -> Job:
        """Refuse: a trial that needs an engine needs another one."""
        raise UsageError(f"there is no engine for {job.query}", "Choose one with --engine.")
