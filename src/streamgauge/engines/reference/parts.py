"""What a workload contributes to the engine `reference`: its file `reference.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import pyarrow as pa

from streamgauge.engines.reference.sinks import TableWriter
from streamgauge.engines.reference.windows import Buffer
from streamgauge.jobfile import JobSpec
from streamgauge.spec.endpoints import Services
from streamgauge.spec.query import Query


class Parts(Protocol):
    """What a workload's `reference.py` contributes; for tables only if it has some."""

    def tables(self, query: str, services: Services) -> Mapping[str, pa.Table]:
        """Read the business tables that the query's answers need."""

    def printed(self, query: str, exact: bytes) -> bytes | None:
        """Return an expected value as an engine prints it; None if it prints none."""

    def writer(self, query: str, services: Services) -> TableWriter:
        """Return what writes the answers of a query whose output is a table."""


@runtime_checkable
class BringsBuffer(Protocol):
    """Ability of a workload's part: it knows when its answers are final."""

    def buffer(self, job: JobSpec, query: Query) -> Buffer:
        """Return what holds records back until their answer is known."""
