"""The records of a trial, read back when it is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Records(Protocol):
    """All records of one stream or output; instances are sent to other processes."""

    @property
    def in_columns(self) -> bool:
        """Tell whether they come as columns of numbers, which need no parsing."""

    def extent(self) -> list[tuple[int, int]]:
        """Return the first and the next offset of each partition."""

    def newest_ms(self) -> int | None:
        """Return the greatest append time, None without records."""

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield the records with offsets from `start` up to `stop`, all of them, in order."""


@dataclass(frozen=True)
class Recorded:
    """What went through a trial."""

    inputs: Mapping[str, Records]
    """By stream; those that were sent before the load among them."""
    output: Records | None
    """None for a query that writes to a service."""
