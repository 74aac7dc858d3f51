"""What a workload promises: data, and queries with known answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from streamgauge.spec.answers import Answers
from streamgauge.spec.endpoints import Services
from streamgauge.spec.form import FRONT, Form
from streamgauge.spec.values import Json, Span

if TYPE_CHECKING:
    import pyarrow as pa
    from pydantic import BaseModel
    from pyspark.sql import SparkSession

    from streamgauge.spec.trial import TrialSpec


@dataclass(frozen=True)
class Payloads:
    """What a stream's records say, without what their form puts in front."""

    blocks: Iterable[Sequence[bytes]]
    """All of them in the order of the records, rendered when they are asked for, a bounded number
    at a time; after the last comes the first again."""
    marker: bytes | None = None
    """Payload of markers; None where the stream's own next records serve."""
    sentinel: bytes | None = None
    """Payload of sentinels, for queries that need them to close their last windows."""
    keys: Iterable[Sequence[bytes]] | None = None
    """A key for each payload, in blocks as long as those of the payloads and asked for together
    with them; None for records without a key."""
    partition: Literal["number", "key"] = "number"
    """What the partition of a record follows: its number, or its key as in Kafka's own producers.
    Markers and sentinels go to every partition, so a stream whose partitions follow keys needs
    markers of its own."""
    marker_key: bytes | None = None
    """Key of markers and sentinels."""
    markers: Callable[[int, int], Sequence[bytes]] | None = None
    """Payloads of one marker by its number and time, instead of `marker`: where every marker has to
    be another one, or takes several records to be answered. Always equally many."""
    shifts: Sequence[int] | None = None
    """Where each payload carries its event time: how many milliseconds that is after the intended
    time, record by record and then from the beginning again. Payloads are formats then that take
    it as `%d`, and a marker of its own may be one. None for payloads that are sent as they are."""
    dated: Callable[[int], bytes] | None = None
    """How an intended time is written in each payload, which is a format then that takes it as
    `%b`; markers and sentinels are sent as they are."""


@dataclass(frozen=True)
class Columns:
    """What a stream's records say, as columns of whole numbers: after `id` and `intended`.

    They have no form and no key, and their partition follows their number.
    """

    ring: pa.Table
    """Record i has the row `i % len(ring)`."""
    sentinel: Mapping[str, int]
    """What sentinels say."""


@dataclass(frozen=True)
class Query:
    """One question to the stream."""

    name: str
    title: str
    streams: tuple[str, ...]
    output: Literal["topic", "table"]
    answers: Answers
    functions: tuple[str, ...]
    """Core functions of stream processing that it exercises."""
    answers_markers: bool
    """Whether each marker has an output of its own."""
    marker_key: Callable[[bytes], str] | None = None
    """Key of that output, by the marker's value; None where it is the marker's id."""
    window_of: Callable[[bytes, int], str] | None = None
    """Key of the output with the window of a marker, by the marker's value and append time: for
    modes in which records close windows."""
    services: tuple[str, ...] = ()
    """Names of the services that it uses, apart from what carries its records."""
    tables: tuple[str, ...] = ()
    """Business tables that it reads or writes; recorded with every trial."""
    configuration: tuple[str, ...] = ()
    """Further streams, which are sent as a whole before the load."""
    internal: tuple[str, ...] = ()
    """Streams that it writes and reads itself."""
    window_ms: int | None = None
    """Size of its time windows, if it has any."""
    whole_seconds: bool = False
    """Whether its load begins with a second of the clock."""
    needs_sentinels: bool = False
    """Whether its last windows are closed by sentinels: records with a time far ahead, sent to
    every input partition once all before them was consumed; they are in no answer."""
    sample: Callable[[int, bytes], float] | None = None
    """Seconds from intended time to append time of one output, for the live view."""
    forms: Mapping[str, Form] = field(default_factory=dict)
    """Form of each stream's records, where it is not `FRONT`."""

    def form(self, stream: str) -> Form:
        """Return the form of a stream's records."""
        return self.forms.get(stream, FRONT)


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
        """Tell a stream's payloads for `count` records; called in the sender's process."""


@runtime_checkable
class HasColumns(Workload, Protocol):
    """Ability of a workload: its streams can be drawn as columns, for queues without a broker."""

    def columns(self, spec: TrialSpec, stream: str, count: int) -> Columns:
        """Draw a stream's records; the same as `payloads`, not yet rendered."""


@runtime_checkable
class ShapesQueries(Workload, Protocol):
    """Ability of a workload: its parameters shape its queries, as the size of their windows."""

    def shaped(self, query: Query, parameters: Mapping[str, Json]) -> Query:
        """Return the query as these parameters make it."""


@runtime_checkable
class PlansTrials(Workload, Protocol):
    """Ability of a workload: it decides a part of its trials, before any of them starts."""

    def plan(self, spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
        """Raise sizes and times to what the data need, add acts; tell what was changed and why.

        A trial that was planned before is returned as it is.
        """


@runtime_checkable
class RemarksOnTrials(Workload, Protocol):
    """Ability of a workload: what its trials measure depends on when they took place."""

    def remarks(self, spec: TrialSpec, measured: Span) -> list[str]:
        """Tell what a reader of the figures has to know about the measured time."""


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
        """Tell whether every marker's row is there."""
