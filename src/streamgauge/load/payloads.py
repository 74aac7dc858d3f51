"""Payloads and keys of a stream's records: from memory, or streamed from files.

They are rendered before the load. Records take them in turn, and from the beginning again when
they are used up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import BinaryIO, Generic, Protocol, TypeVar

from streamgauge.errors import UsageError
from streamgauge.load.partitioner import partition_of
from streamgauge.spec.form import Form
from streamgauge.spec.payloads import Payloads

_CHUNK = 1 << 20
_KEYS, _PARTITIONS = ".keys", ".partitions"
"""Ends of the names of the files next to the payloads."""
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Source(Protocol[T_co]):
    """Where the payloads, keys or partitions of records come from."""

    def take(self, first: int, count: int, step: int) -> Sequence[T_co]:
        """Return those of the records `first`, `first + step` … in one piece."""


class Memory(Generic[T]):
    """What is ready in memory."""

    def __init__(self, ring: Sequence[T]) -> None:
        self._ring = ring

    def take(self, first: int, count: int, step: int) -> Sequence[T]:
        """Return a slice where that is enough."""
        size = len(self._ring)
        begin = first % size
        end = begin + (count - 1) * step + 1
        if end <= size:
            return self._ring[begin:end:step]
        return [self._ring[record % size] for record in range(begin, end, step)]


class Streamed:
    """What is read, a little ahead, from a file of lines; calls must go forward."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=_CHUNK)
        self._size = _count_lines(self._file)
        self._lines = _endless(self._file)
        self._next = 0

    def take(self, first: int, count: int, step: int) -> Sequence[bytes]:
        """Skip what others send, and read on."""
        ahead = (first - self._next) % self._size
        length = (count - 1) * step + 1
        lines = islice(self._lines, ahead, ahead + length, step)
        taken = [line[:-1] for line in lines]
        self._next = first + length
        return taken


class Numbers:
    """Whole numbers that are written as text."""

    def __init__(self, texts: Source[bytes]) -> None:
        self._texts = texts

    def take(self, first: int, count: int, step: int) -> Sequence[int]:
        """Read the texts."""
        return [int(text) for text in self._texts.take(first, count, step)]


@dataclass(frozen=True)
class Sources:
    """Where everything that a stream's records need comes from."""

    payloads: Source[bytes]
    keys: Source[bytes] | None = None
    """None for records without a key."""
    partitions: Source[int] | None = None
    """None where the partition follows the record's number."""


@dataclass(frozen=True)
class Block:
    """Some of a stream's records."""

    payloads: Sequence[bytes]
    keys: Sequence[bytes] = ()
    partitions: Sequence[int] = ()


def in_memory(payloads: Payloads, form: Form, partitions: int) -> Sources:
    """Render everything that a stream's records need into memory.

    Raises:
        UsageError: The payloads do not fit their form or their keys.
    """
    values: list[bytes] = []
    keys: list[bytes] = []
    chosen: list[int] = []
    for block in rendered(payloads, form, partitions):
        values += block.payloads
        keys += block.keys
        chosen += block.partitions
    return Sources(
        Memory(values), Memory(keys) if keys else None, Memory(chosen) if chosen else None
    )


def write_files(payloads: Payloads, form: Form, partitions: int, path: Path) -> None:
    """Write the files that `streamed` reads: the payloads to `path`, keys next to it.

    Raises:
        UsageError: The payloads do not fit their form or their keys, or have more than one line.
    """
    with ExitStack() as stack:
        files = [
            stack.enter_context(place.open("wb", buffering=_CHUNK))
            for place in _places(payloads, path)
        ]
        for block in rendered(payloads, form, partitions):
            numbers = [b"%d" % number for number in block.partitions]
            for file, lines in zip(files, (block.payloads, block.keys, numbers), strict=False):
                _write_lines(lines, file)


def streamed(payloads: Payloads, path: Path) -> Sources:
    """Read what `write_files` wrote; nothing is rendered."""
    values, *others = [Streamed(place) for place in _places(payloads, path)]
    keys = others[0] if others else None
    return Sources(values, keys, Numbers(others[1]) if len(others) > 1 else None)


def _places(payloads: Payloads, path: Path) -> list[Path]:
    """Name the files of a stream: its payloads, and where it has some, keys and partitions."""
    ends = [""]
    if payloads.keys is not None:
        ends.append(_KEYS)
        if payloads.partition == "key":
            ends.append(_PARTITIONS)
    return [path.with_name(path.name + end) for end in ends]


def rendered(payloads: Payloads, form: Form, partitions: int) -> Iterator[Block]:
    """Render block by block, and choose the partitions of keys."""
    _check(payloads, form)
    if payloads.keys is None:
        for values in payloads.blocks:
            _check_form(values, form)
            yield Block(values)
        return
    for values, keys in zip_longest(payloads.blocks, payloads.keys, fillvalue=()):
        if len(values) != len(keys):
            raise UsageError(
                f"the workload has {len(keys)} keys for a block of {len(values)} payloads",
                "Give each payload a key: a workload's blocks of keys are as long as its blocks"
                " of payloads.",
            )
        _check_form(values, form)
        follows = payloads.partition == "key"
        yield Block(values, keys, [partition_of(key, partitions) for key in keys if follows])


def _check(payloads: Payloads, form: Form) -> None:
    """Refuse what cannot be sent, and look at markers and sentinels."""
    if payloads.partition == "key":
        if payloads.keys is None:
            raise UsageError(
                "the workload lets partitions follow keys, but has no keys",
                "Give its payloads keys.",
            )
        if payloads.marker is None and payloads.markers is None:
            raise UsageError(
                "a stream whose partitions follow keys has no marker of its own: its next record"
                " would go to partitions that are not those of its key",
                "Give its payloads a marker.",
            )
    own = [payloads.marker, payloads.sentinel]
    own += [] if payloads.markers is None else payloads.markers(0, 0)
    _check_form([each for each in own if each is not None], form)


def _check_form(values: Iterable[bytes], form: Form) -> None:
    if form.payload_pattern is None:
        return
    bad = next((value for value in values if not form.fits(value)), None)
    if bad is not None:
        raise UsageError(
            f"the payload {bad[:80]!r} cannot follow {form.looks}",
            f"Render the rest of a record of the form {form.name}: at least one field, and the"
            " closing brace.",
        )


def _write_lines(lines: Iterable[bytes], file: BinaryIO) -> None:
    for line in lines:
        if b"\n" in line:
            raise UsageError(
                "payloads or keys with line breaks cannot be streamed", "Use -L source=memory."
            )
        file.write(line + b"\n")


def _count_lines(file: BinaryIO) -> int:
    return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))


def _endless(file: BinaryIO) -> Iterator[bytes]:
    while True:
        file.seek(0)
        yield from file
