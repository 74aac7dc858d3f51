"""What a workload promises: data, and queries with known answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from streamgauge.spec.endpoints import Services
from streamgauge.spec.payloads import Columns, Payloads
from streamgauge.spec.query import Query
from streamgauge.spec.values import Json, Span

if TYPE_CHECKING:
    import pyarrow as pa
    from pydantic import BaseModel
    from pyspark.sql import SparkSession

    from streamgauge.spec.trial import TrialSpec


class Workload(Protocol):
    """Data and queries with known answers."""

    name: ClassVar[str]
    version: ClassVar[str]
    title: ClassVar[str]
    parameters: ClassVar[type[BaseModel]]
    queries: ClassVar[Mapping[str, Query]]
    default_queries: ClassVar[tuple[str, ...]]
    quick: ClassVar[Mapping[str, Json]]
    """Parameters of a quick run, where they differ from the defaults."""

    def check(self, parameters: Mapping[str, Json]) -> None:
        """Refuse parameters that cannot work with a UsageError, before anything is started."""

    def payloads(self, spec: TrialSpec, stream: str, count: int) -> Payloads:
        """Return a stream's payloads for `count` records; called in the sender's process."""


@runtime_checkable
class HasColumns(Workload, Protocol):
    """Ability of a workload: its streams can be drawn as columns, for queues without a broker."""

    def columns(self, spec: TrialSpec, stream: str, count: int) -> Columns:
        """Draw a stream's records; the same as `payloads`, not yet rendered."""


@runtime_checkable
class ShapesQueries(Workload, Protocol):
    """Ability of a workload: its parameters shape its queries, such as the size of windows."""

    def shaped(self, query: Query, parameters: Mapping[str, Json]) -> Query:
        """Return the query as these parameters make it."""


@runtime_checkable
class PlansTrials(Workload, Protocol):
    """Ability of a workload: it decides a part of its trials, before any of them starts."""

    def plan(self, spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
        """Raise sizes and times to what the data need, add acts; return what was changed and why.

        A trial that was planned before is returned as it is.
        """


@runtime_checkable
class RemarksOnTrials(Workload, Protocol):
    """Ability of a workload: what its trials measure depends on when they took place."""

    def remarks(self, spec: TrialSpec, measured: Span) -> list[str]:
        """Return what a reader of the figures has to know about the measured time."""


@runtime_checkable
class HasTables(Workload, Protocol):
    """Ability of a workload: business data in services."""

    def load_tables(
        self,
        spec: TrialSpec,
        services: Services,
        cache: Path,
        spark: Callable[[], SparkSession],
    ) -> None:
        """Bring the tables of the trial's query to their pristine state."""

    def record_tables(
        self, spec: TrialSpec, services: Services, cache: Path
    ) -> Mapping[str, pa.Table]:
        """Read back the tables that the query's answers need, their pristine state included."""

    def table_answered(self, services: Services, markers: Sequence[bytes]) -> bool:
        """Return whether every marker's row is there."""
