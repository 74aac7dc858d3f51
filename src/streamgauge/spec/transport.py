"""What a transport promises: it carries the records of a trial to the engine and back.

A transport owns the names of a trial's streams, the program that sends the load, and the ways to
look at what was sent, to read it back and to delete it. It is registered in the entry-point group
`streamgauge.transports`; `streamgauge.transports.base` has what most of them have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, runtime_checkable

from streamgauge.spec.endpoints import Endpoint, Endpoints, Services
from streamgauge.spec.offering import Backlog, Sending
from streamgauge.spec.records import Appended, Record, Recorded, Single

if TYPE_CHECKING:
    import pyarrow as pa

    from streamgauge.spec.query import Query
    from streamgauge.spec.trial import LoadSpec, TrialSpec
    from streamgauge.spec.workload import Workload

Counters = Callable[[float], Mapping[str, float]]
"""Returns a broker's own counters; called once a second with the time."""


class Records(Protocol):
    """All records of one stream or output; instances are sent to other processes."""

    @property
    def in_columns(self) -> bool:
        """Whether they come as columns of numbers, which need no parsing."""

    def extent(self) -> list[tuple[int, int]]:
        """Return the first and the next offset of each partition."""

    def newest_ms(self) -> int | None:
        """Return the greatest append time, None without records."""

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the records with offsets from `start` up to `stop`, all of them, in order."""


class Tail(Protocol):
    """Follows a stream; each `read` returns what came since the last one."""

    def read(self, timeout_s: float = 0.1, *, most: int = 10_000) -> list[Record]:
        """Return the records that are there; wait for the first one no longer than `timeout_s`."""

    def close(self) -> None:
        """Stop following."""


class Channel(Protocol):
    """The harness's access to the streams of one trial.

    Two threads use it: one drains, one reads `log_end` and `newest` each second. Leaving the
    context closes the connection.
    """

    def create(self, *, forgets: bool = False) -> None:
        """Create what the trial needs and wait until it can be used.

        Args:
            forgets: Whether old records may be deleted, to keep the use of the disk bounded.
        """

    def delete(self) -> None:
        """Delete it; what is already gone is not an error."""

    def log_end(self, name: str) -> list[int]:
        """Return the next offset of every partition of a stream or of the output."""

    def newest(self, name: str) -> tuple[int, bytes] | None:
        """Return time and value of the newest output, as a sample; None when there is none."""

    def follow(self, name: str, starts: Sequence[int]) -> Tail:
        """Follow a stream from the given offset of each partition."""

    def committed(self) -> Mapping[tuple[str, int], int]:
        """Return the offsets that the engine has committed, by input stream and partition."""

    def handed(self) -> int | None:
        """Return how many records the engine has pulled; None where only the engine knows."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Batch(Protocol):
    """Records as they were read."""

    def __len__(self) -> int: ...

    def table(self) -> pa.Table:
        """Return them with the columns of `measure.columns.RECORDS`."""


class Reader(Protocol):
    """Reads all inputs of a query, but not what it wrote itself; for an engine in Python."""

    def read(self, timeout_s: float = 0.1) -> Batch:
        """Return what is there; wait for the first record no longer than `timeout_s`."""

    def positions(self) -> dict[str, list[int]]:
        """Return the next offset to be read of every partition, by input stream.

        Streams that were sent before the load are read, but are not in here.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Outlet(Protocol):
    """Takes the outputs of an engine in Python."""

    def put(self, values: Sequence[bytes]) -> None:
        """Send values, in their order."""

    def flush(self) -> None:
        """Return when everything has arrived."""


class Producer(Protocol):
    """Takes the records of the load, as fast as it can.

    It must send what it has taken without further calls. Each sender has one of its own; any of
    them may send to any partition.
    """

    def produce(self, topic: str, value: bytes, key: bytes | None, partition: int) -> None:
        """Take a record; raise BufferError when there is no room.

        Args:
            topic: The stream, by the name of its place in `Endpoints`.
            value: What is sent.
            key: Its key, for those that have one.
            partition: Where it goes, from 0.
        """

    def poll(self, timeout: float) -> int:
        """Process delivery reports; called every few milliseconds while records are due."""

    def flush(self, timeout: float) -> int:
        """Wait until everything is delivered; return how many records are not."""

    def __len__(self) -> int: ...


class Outgoing(Protocol):
    """How the sender's process sends."""

    @property
    def producer(self) -> Producer:
        """Return what takes the load."""

    @property
    def errors(self) -> int:
        """Count the records of the load that were lost."""

    @property
    def requests_s(self) -> list[float]:
        """Return, for each second, the mean time from a request to its answer, where asked for."""

    def send(self, records: Sequence[Single]) -> list[Appended]:
        """Send records and return where each was stored; TrialInvalid when they are not taken."""


class Transport(Protocol):
    """A way to carry the records of a trial."""

    name: ClassVar[str]
    title: ClassVar[str]
    services: ClassVar[tuple[str, ...]]
    """Names of the services that it needs."""
    via: ClassVar[type[Endpoint]]
    """The kind of `Endpoints.via`."""
    backlog: ClassVar[Backlog]
    sender_first: ClassVar[bool]
    """Whether the program that sends must be ready before the engine starts."""
    remembers: ClassVar[int]
    """How many of a partition's last records are kept at least in a trial without an engine, where
    `create` may delete old ones; 0 where such trials are not possible."""
    heeds: ClassVar[frozenset[str]]
    """The settings of the load (fields of `LoadSpec`) that it supports, besides those that every
    trial supports; others are refused."""

    def check(self, trial: TrialSpec, query: Query, workload: Workload) -> None:
        """Raise UsageError for what it cannot carry, before anything is started."""

    def disk_bytes(self, trial: TrialSpec, streams: int, records: int) -> int:
        """Return how many bytes a trial with that many records per stream may write at most."""

    def place(self, name: str, query: Query, partitions: int, services: Services) -> Endpoints:
        """Name the streams of a trial; each name begins with `name`, which no other trial has."""

    def open(self, endpoints: Endpoints) -> Channel:
        """Return the harness's access to them, before they are created."""

    def sending(self, endpoints: Endpoints) -> Sending:
        """Return which program sends the load."""

    def counters(self, endpoints: Endpoints) -> AbstractContextManager[Counters]:
        """Return access to the broker's own counters; NotReady where there is none."""

    def reader(self, endpoints: Endpoints) -> Reader:
        """Return the inputs of a job for an engine in Python."""

    def outlet(self, endpoints: Endpoints) -> Outlet:
        """Return what takes the outputs of an engine in Python."""

    def read_back(
        self, trial: TrialSpec, endpoints: Endpoints, folder: Path, ends: Sequence[int]
    ) -> Recorded:
        """Return the records of a trial that is over; outputs after these ends came too late.

        They are read before the streams are deleted, in processes of the validator: they must
        pickle, and their package must be importable there.
        """

    def keep(self, recorded: Recorded, folder: Path) -> None:
        """Keep all records in the trial's folder, so that it can be validated again."""

    def kept(self, trial: TrialSpec, query: Query, folder: Path) -> Recorded:
        """Open what was kept; UsageError when nothing was kept."""

    def forget(self, folder: Path) -> None:
        """Remove from the trial's folder what is not to be kept."""

    def clear(self, services: Services, prefix: str) -> None:
        """Delete what an earlier attempt at a run left in services that are not ours."""


@runtime_checkable
class TakesRecords(Protocol):
    """Ability of a transport: Streamgauge's own sender uses it, record by record."""

    def outgoing(self, endpoints: Endpoints, load: LoadSpec, *, asks: bool) -> Outgoing:
        """Return what the sender sends with.

        Args:
            endpoints: Those of the trial.
            load: How to send.
            asks: Whether to measure the time of requests.
        """
