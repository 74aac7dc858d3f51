"""Payloads of a stream's records, rendered before the load: from memory, or streamed from a file.

Records take them in turn, and from the beginning again when they are used up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Protocol

from streamgauge.errors import UsageError

_CHUNK = 1 << 20


class Source(Protocol):
    """Where payloads come from."""

    def take(self, first: int, count: int, step: int) -> Sequence[bytes]:
        """Return the payloads of records `first`, `first + step` … in one piece."""


class Memory:
    """Payloads that lie ready."""

    def __init__(self, payloads: Sequence[bytes]) -> None:
        self._payloads = payloads

    def take(self, first: int, count: int, step: int) -> Sequence[bytes]:
        """Return a slice where that is enough."""
        size = len(self._payloads)
        begin = first % size
        end = begin + (count - 1) * step + 1
        if end <= size:
            return self._payloads[begin:end:step]
        return [self._payloads[record % size] for record in range(begin, end, step)]


class Streamed:
    """Payloads that are read, a little ahead, from a file of lines; calls must go forward."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=_CHUNK)
        self._size = _count_lines(self._file)
        self._lines = _endless(self._file)
        self._next = 0

    def take(self, first: int, count: int, step: int) -> Sequence[bytes]:
        """Pass over what others send, and read on."""
        ahead = (first - self._next) % self._size
        length = (count - 1) * step + 1
        lines = islice(self._lines, ahead, ahead + length, step)
        payloads = [line[:-1] for line in lines]
        self._next = first + length
        return payloads


def write_lines(payloads: Iterable[bytes], path: Path) -> None:
    """Write the file that `Streamed` reads.

    Raises:
        UsageError: A payload has more than one line.
    """
    with path.open("wb", buffering=_CHUNK) as file:
        for payload in payloads:
            if b"\n" in payload:
                raise UsageError(
                    "payloads with line breaks cannot be streamed", "Use -L source=memory."
                )
            file.write(payload + b"\n")


def _count_lines(file: BinaryIO) -> int:
    return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))


def _endless(file: BinaryIO) -> Iterator[bytes]:
    while True:
        file.seek(0)
        yield from file
