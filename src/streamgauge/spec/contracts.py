"""What workloads, engines and experiments promise each other: the smallest protocols that work.

Tables are `pyarrow.Table`s. Times are epoch milliseconds in columns and seconds elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, Self, runtime_checkable

from streamgauge.spec.endpoints import FlightEndpoint, KafkaEndpoint, PostgresEndpoint

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from pydantic import BaseModel
    from pyspark.sql import SparkSession

    from streamgauge.spec.trial import TrialResult, TrialSpec

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True)
class Problem:
    """Something that keeps an engine from running, and what to do about it."""

    what: str
    remedy: str


@dataclass(frozen=True)
class Endpoints:
    """Where the records of one trial come in and go out: by a broker or by the driver's queues."""

    kafka: KafkaEndpoint | None
    inputs: Mapping[str, str]
    """Topic, or queue, of each input stream."""
    output: str | None
    """Topic, or queue, of the output; None for a query that writes to a table."""
    partitions: int
    """Of each input topic, and of the output topic."""
    group: str
    """Consumer group to which an engine may commit its offsets."""
    postgres: PostgresEndpoint | None = None
    flight: FlightEndpoint | None = None

    @property
    def broker(self) -> KafkaEndpoint:
        """Return the broker of a trial that has one."""
        assert self.kafka is not None, "a trial over Kafka has a broker"
        return self.kafka

    @property
    def queues(self) -> FlightEndpoint:
        """Return the queues of a trial without a broker."""
        assert self.flight is not None, "a trial over Flight has queues"
        return self.flight


@dataclass(frozen=True)
class Resources:
    """What the engine's processes may use of this machine."""

    cpus: tuple[int, ...]


@dataclass(frozen=True)
class JobSpec:
    """One query for one engine to run; `Engine.resolve` fills in what was left open."""

    workload: str
    query: str
    parameters: Mapping[str, Json]
    partitions: int
    seed: int
    options: Mapping[str, str]
    """The user's `-E key=value`, checked by `resolve`."""
    transport: str = "kafka"
    """How records reach the engine and come back."""
    cores: int | None = None
    """How many the engine may use; None for all."""
    mode: str | None = None
    trigger_s: float | None = None
    """The trigger interval that was asked for; None for as fast as possible."""
    watermark_delay_ms: int = 0
    """How long the engine keeps a window open beyond its end."""
    checkpoint_s: float | None = None
    """Interval of checkpoints that each are a gap in the output; None where they are none."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The engine's settings in force, as they are reported with the result."""


@dataclass(frozen=True)
class Progress:
    """How far an engine says it has come."""

    finished: Mapping[tuple[str, int], int]
    """Next offset to be read, by (stream, partition), of all finished work."""
    idle: bool
    """Nothing was left to do when this was reported."""
    at: float
    """When it was reported, epoch seconds."""


class Job(Protocol):
    """A running engine job; leaving the context stops it."""

    def processes(self) -> Sequence[int]:
        """Return the process ids at the roots of the engine's process trees."""

    def failure(self) -> str | None:
        """Tell why the job ended, log tail included, or None while it runs."""

    def stop(self) -> None:
        """Stop with grace."""

    def kill(self) -> None:
        """Stop at once."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class ReportsProgress(Protocol):
    """Ability of a job: it tells which offsets are done."""

    def progress(self) -> Progress | None:
        """Return the newest report, None before the first."""


class Engine(Protocol):
    """A system under test."""

    name: ClassVar[str]
    answers: ClassVar[bool]
    """False for an engine that reads and drops."""

    def check(self) -> list[Problem]:
        """Tell what is missing on this machine; empty when ready."""

    def resolve(self, job: JobSpec) -> JobSpec:
        """Fill in mode, trigger and settings; refuse what cannot be done with a UsageError."""

    def start(self, job: JobSpec, endpoints: Endpoints, resources: Resources, folder: Path) -> Job:
        """Start the job; its job file, log and progress go to `folder`."""


@runtime_checkable
class Fetches(Protocol):
    """Ability of an engine: it fetches what it needs before its first run."""

    def fetch(self, progress: Callable[[str], None]) -> None:
        """Fetch what is not there yet; NotReady when that cannot be done."""


@dataclass(frozen=True)
class Payloads:
    """What a stream's records say, without the leading `id;intended;`."""

    blocks: Iterable[Sequence[bytes]]
    """All of them in the order of the records, rendered when they are asked for, a bounded number
    at a time; after the last comes the first again."""
    marker: bytes | None = None
    """Payload of markers; None where the stream's own next records serve."""
    sentinel: bytes | None = None
    """Payload of sentinels, for queries that need them to close their last windows."""


@dataclass(frozen=True)
class Columns:
    """What a stream's records say, as columns of whole numbers: after `id` and `intended`."""

    ring: pa.Table
    """Record i has the row `i % len(ring)`."""
    sentinel: Mapping[str, int]
    """What sentinels say."""


@dataclass(frozen=True)
class AnswerContext:
    """What an answer may need beyond the records of its own range."""

    parameters: Mapping[str, Json]
    horizon_ms: int
    """Greatest event time in the input minus the watermark delay: a later window may stay open."""
    tables: Mapping[str, pa.Table]
    """Business tables as recorded at the end of the trial, by name."""


class Answers(Protocol):
    """The expected outputs of one query: plain Python over Arrow, shared with no engine.

    Records have the columns partition (int32), offset (int64), timestamp (int64, append time)
    and value (binary); those of a workload that has columns may come with id, intended and these
    columns instead of the value. Instances are sent to other processes, so they must pickle.
    """

    aligned: ClassVar[int]
    """Ranges of the input begin at multiples of this offset (a count window's size, else 1)."""
    merges: ClassVar[bool]
    """True when a key's contributions may lie in several ranges, to be brought together."""

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return key (string), value (binary), intended, appended, window_end (int64), optional.

        `intended` and `appended` are the greatest of the contributing inputs. `optional` outputs
        may be there or not; an optional one with a null value is not compared at all.
        """

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Bring the rows of each key, from several ranges, together into one."""

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return key (string, null when unreadable), value (binary) and emitted of each output."""

    def agree(self, expected: pa.Table, outputs: pa.Table) -> npt.NDArray[np.bool_]:
        """Tell for each pair of rows whether the output is right."""


@runtime_checkable
class AnswersInTables(Answers, Protocol):
    """Ability of answers: the query's outputs are what it did to the business tables."""

    def table_outputs(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Return key (null for what should not have been done), value and emitted."""


@runtime_checkable
class AnswersInGroups(Answers, Protocol):
    """Ability of answers: keys that can only be answered together, as the pairs of a join."""

    def groups(self, keys: pa.ChunkedArray) -> pa.Array:
        """Return the group (string) of each key, which is merged in one place.

        Expected rows whose key has none are handed to every place.
        """


@runtime_checkable
class AnswersInEventTime(Answers, Protocol):
    """Ability of answers: outputs have times of their own, and records may come too late."""

    def event_times(self, expected: pa.Table) -> pa.Array:
        """Return the event time (int64) of each expected output, as the workload defines it."""

    def ingestion_times(self, outputs: pa.Table) -> pa.Array:
        """Return when the engine took in the latest input of each output; null where unsaid."""

    def lenient(self, expected: pa.Table) -> int:
        """Count the expected outputs with several right answers, since records came too late."""


@dataclass(frozen=True)
class Act:
    """Something the harness does at a set time of a trial."""

    at_s: float
    """Seconds after the load began."""
    what: str
    do: Callable[[], None]


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
    """Whether each marker has an output of its own, whose key is the marker's id."""
    tables: tuple[str, ...] = ()
    """Business tables that it reads or writes; recorded with every trial."""
    window_ms: int | None = None
    """Size of its time windows, if it has any."""
    needs_sentinels: bool = False
    """Whether its last windows are closed by sentinels: records with a time far ahead, sent to
    every input partition once all before them was consumed; they are in no answer."""
    sample: Callable[[int, bytes], float] | None = None
    """Seconds from intended time to append time of one output, for the live view."""


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


@dataclass(frozen=True)
class Span:
    """A stretch of time, epoch milliseconds."""

    start_ms: int
    end_ms: int


@runtime_checkable
class HasTables(Workload, Protocol):
    """Ability of a workload: business data in the database."""

    def plan(self, spec: TrialSpec) -> tuple[TrialSpec, list[str]]:
        """Raise sizes and warm-up to what the data need; tell what was changed and why."""

    def load_tables(
        self,
        spec: TrialSpec,
        postgres: PostgresEndpoint,
        cache: Path,
        spark: Callable[[], SparkSession],
    ) -> None:
        """Bring the tables of the trial's query to their pristine state."""

    def record_tables(
        self, spec: TrialSpec, postgres: PostgresEndpoint, cache: Path
    ) -> Mapping[str, pa.Table]:
        """Read back the tables that the query's answers need, their pristine state included."""

    def acts(self, spec: TrialSpec, postgres: PostgresEndpoint, measured: Span) -> Sequence[Act]:
        """Return what is to be done in the database while the trial runs."""

    def table_answered(self, postgres: PostgresEndpoint, markers: Sequence[bytes]) -> bool:
        """Tell whether every marker's row is there."""


class Transport(Protocol):
    """How records reach the engine and come back: topics of a broker, or the driver's queues."""

    def create(self, endpoints: Endpoints) -> None:
        """Create what the trial needs and wait until it can be used."""

    def delete(self, endpoints: Endpoints) -> None:
        """Delete it; what is gone already is no error."""

    def log_end(self, name: str) -> list[int]:
        """Return the next offset of every partition of a stream or of the output."""

    def newest(self, name: str) -> tuple[int, bytes] | None:
        """Return time and value of the newest output: a sample; None when there is none."""

    def committed(self, group: str, names: Iterable[str]) -> Mapping[tuple[str, int], int]:
        """Return the offsets that the engine has committed, by stream and partition."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class HandsOut(Transport, Protocol):
    """Ability of a transport: it knows itself what the engine has pulled."""

    def handed(self) -> int:
        """Count the records that were handed out, over all partitions of all streams."""


class Experiment(Protocol):
    """A question asked of the system: pure functions of the trials so far."""

    name: ClassVar[str]

    def plan(self) -> Sequence[TrialSpec]:
        """Return the trials that are known beforehand."""

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the next trial, None when the answer is known."""

    def answer(self, history: Sequence[TrialResult]) -> Mapping[str, Json]:
        """Conclude from the trials."""


@runtime_checkable
class Explains(Protocol):
    """Ability of an experiment: it tells why it wants a trial."""

    def why(self, trial: TrialSpec, history: Sequence[TrialResult]) -> str:
        """Give the reason in a few words."""


@runtime_checkable
class Concludes(Protocol):
    """Ability of an experiment: its answer alone decides how the run ended, not each trial."""

    def exit_code(self, history: Sequence[TrialResult]) -> int:
        """Return the exit code of a run that was not interrupted."""


@dataclass(frozen=True)
class Stage:
    """A part of an experiment whose trials depend on those before."""

    what: str
    trials: int
    """How many, if all goes well."""


@runtime_checkable
class Outlines(Protocol):
    """Ability of an experiment: it tells what it will do, where `plan` knows the first trials."""

    def outline(self) -> Sequence[Stage]:
        """Return what is done for each query."""


@runtime_checkable
class NeedsTime(Protocol):
    """Ability of an experiment: its trials must not be shorter than this."""

    def least_times(self, trigger_s: float | None, window_ms: int | None) -> tuple[float, float]:
        """Return warm-up and duration in seconds.

        Args:
            trigger_s: the trigger interval that was asked for, None for as fast as possible.
            window_ms: the size of the query's time windows, if it has any.
        """
