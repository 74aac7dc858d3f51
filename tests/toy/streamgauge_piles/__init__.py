"""A transport of somebody else: each partition is a pile of records in two files of a folder."""

from __future__ import annotations

import shutil
import struct
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import pyarrow as pa

from streamgauge.measure.columns import RECORDS
from streamgauge.spec.endpoints import Endpoint, Endpoints, Services
from streamgauge.spec.records import Appended, Record, Recorded, Single
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.transports.base import BaseTransport

_ENTRY = struct.Struct("<qq")
"""In the index of a pile: when a record was appended, and where its value ends."""


@dataclass(frozen=True)
class Folder(Endpoint):
    service: ClassVar[str] = "piles"

    folder: str

    @property
    def address(self) -> str:
        return f"file://{self.folder}"

    def piles(self, name: str, partitions: int) -> list[Pile]:
        return [
            Pile(Path(self.folder) / f"{name}.{number}", number) for number in range(partitions)
        ]


@dataclass(frozen=True)
class Pile:
    """One partition; a single process writes to it."""

    path: Path
    partition: int

    @property
    def index(self) -> Path:
        return self.path.with_name(f"{self.path.name}.index")

    def end(self) -> int:
        return self.index.stat().st_size // _ENTRY.size if self.index.exists() else 0

    def append(self, value: bytes) -> int:
        """Append a record and return its offset; it is there when the index says so."""
        offset = self.end()
        with self.path.open("ab") as values:
            values.write(value)
            stop = values.tell()
        with self.index.open("ab") as index:
            index.write(_ENTRY.pack(time.time_ns() // 1_000_000, stop))
        return offset

    def read(self, start: int, stop: int) -> list[Record]:
        if start >= stop:
            return []
        before = max(start - 1, 0)
        with self.index.open("rb") as index:
            index.seek(before * _ENTRY.size)
            entries = list(_ENTRY.iter_unpack(index.read((stop - before) * _ENTRY.size)))
        at = entries.pop(0)[1] if start else 0
        found = []
        with self.path.open("rb") as values:
            values.seek(at)
            for offset, (at_ms, end) in enumerate(entries, start):
                found.append(Record(self.partition, offset, at_ms, values.read(end - at)))
                at = end
        return found


class Batch(list[Record]):
    def table(self) -> pa.Table:
        rows = [(each.partition, each.offset, each.timestamp_ms, each.value) for each in self]
        columns = zip(*rows, strict=True) if rows else [()] * len(RECORDS)
        arrays = [pa.array(each, field.type) for each, field in zip(columns, RECORDS, strict=True)]
        return pa.table(arrays, schema=RECORDS)


class Following:
    """Reads on in the piles of several streams; a tail and an engine's reader."""

    def __init__(self, piles: Mapping[str, Sequence[Pile]], starts: Sequence[int] = ()) -> None:
        self._piles = piles
        self._at = {name: [*starts] or [0] * len(each) for name, each in piles.items()}

    def read(self, timeout_s: float = 0.1, *, most: int = 10_000) -> Batch:
        deadline = time.monotonic() + timeout_s
        while not (found := self._read(most)) and time.monotonic() < deadline:
            time.sleep(0.002)
        return found

    def positions(self) -> dict[str, list[int]]:
        return {name: list(at) for name, at in self._at.items()}

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def _read(self, most: int) -> Batch:
        found = Batch()
        for name, piles in self._piles.items():
            for pile in piles:
                start = self._at[name][pile.partition]
                found += pile.read(start, stop := min(pile.end(), start + most))
                self._at[name][pile.partition] = stop
        return found


class Channel:
    def __init__(self, endpoints: Endpoints) -> None:
        self._via, self._partitions = Folder.of(endpoints.via), endpoints.partitions

    def create(self, *, forgets: bool = False) -> None:
        Path(self._via.folder).mkdir()

    def delete(self) -> None:
        shutil.rmtree(self._via.folder, ignore_errors=True)

    def log_end(self, name: str) -> list[int]:
        return [pile.end() for pile in self._via.piles(name, self._partitions)]

    def newest(self, name: str) -> tuple[int, bytes] | None:
        piles = self._via.piles(name, self._partitions)
        last = [each for pile in piles for each in pile.read(pile.end() - 1, pile.end())]
        newest = max(last, key=lambda record: record.timestamp_ms, default=None)
        return None if newest is None else (newest.timestamp_ms, newest.value)

    def follow(self, name: str, starts: Sequence[int]) -> Following:
        return Following({name: self._via.piles(name, self._partitions)}, starts)

    def committed(self) -> Mapping[tuple[str, int], int]:
        return {}

    def handed(self) -> int | None:
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class Outgoing:
    """What the sender sends by, and its own producer: everything is taken at once."""

    errors = 0

    def __init__(self, endpoints: Endpoints) -> None:
        self._via, self._partitions = Folder.of(endpoints.via), endpoints.partitions
        self.producer = self
        self.requests_s: list[float] = []

    def send(self, records: Sequence[Single]) -> list[Appended]:
        offsets = [
            self.produce(each.topic, each.value, each.key, each.partition) for each in records
        ]
        return [Appended(offset, time.time_ns() // 1_000_000) for offset in offsets]

    def produce(self, topic: str, value: bytes, key: bytes | None, partition: int) -> int:
        return self._via.piles(topic, self._partitions)[partition].append(value)

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self, timeout: float) -> int:
        return 0

    def __len__(self) -> int:
        return 0


class Outlet:
    def __init__(self, endpoints: Endpoints) -> None:
        assert endpoints.output is not None
        self._piles = Folder.of(endpoints.via).piles(endpoints.output, endpoints.partitions)
        self._sent = 0

    def put(self, values: Sequence[bytes]) -> None:
        for value in values:
            self._piles[self._sent % len(self._piles)].append(value)
            self._sent += 1

    def flush(self) -> None: ...


@dataclass(frozen=True)
class PiledRecords:
    piles: tuple[Pile, ...]
    ends: tuple[int, ...] | None = None
    in_columns: ClassVar[bool] = False

    def extent(self) -> list[tuple[int, int]]:
        ends = self.ends or [pile.end() for pile in self.piles]
        return [(0, end) for end in ends]

    def newest_ms(self) -> int | None:
        last = [each for pile in self.piles for each in pile.read(pile.end() - 1, pile.end())]
        return max((record.timestamp_ms for record in last), default=None)

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        yield from Batch(self.piles[partition].read(start, stop)).table().to_batches(10_000)


class Piles(BaseTransport):
    name: ClassVar[str] = "piles"
    title: ClassVar[str] = "files of this machine"
    via: ClassVar[type[Endpoint]] = Folder

    def endpoint(self, services: Services) -> Endpoint:
        return Folder(str(Path(tempfile.gettempdir()) / f"piles-{uuid.uuid4().hex}"))

    def open(self, endpoints: Endpoints) -> Channel:
        return Channel(endpoints)

    def outgoing(self, endpoints: Endpoints, load: LoadSpec, *, asks: bool) -> Outgoing:
        return Outgoing(endpoints)

    def reader(self, endpoints: Endpoints) -> Following:
        via = Folder.of(endpoints.via)
        piles = {
            name: via.piles(each, endpoints.partitions) for name, each in endpoints.read.items()
        }
        return Following(piles)

    def outlet(self, endpoints: Endpoints) -> Outlet:
        return Outlet(endpoints)

    def read_back(
        self, trial: TrialSpec, endpoints: Endpoints, folder: Path, ends: Sequence[int]
    ) -> Recorded:
        def records(name: str, ends: Sequence[int] | None = None) -> PiledRecords:
            piles = Folder.of(endpoints.via).piles(name, endpoints.partitions)
            return PiledRecords(tuple(piles), None if ends is None else tuple(ends))

        output = None if endpoints.output is None else records(endpoints.output, ends)
        return Recorded({name: records(each) for name, each in endpoints.read.items()}, output)
