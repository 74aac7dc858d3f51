"""Cut what was recorded into ranges, each the work of one task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streamgauge.errors import TrialInvalid


@dataclass(frozen=True)
class Cut:
    """About how many records of a source go together."""

    range: int
    """That one task reads."""
    bucket: int
    """Whose keys fall into one bucket: every range hands something on to every bucket."""


READ = Cut(50_000, 50_000)
GENERATED = Cut(2_000_000, 4_000_000)
"""Columns that need no parsing, of which only sums are handed on."""
GENERATED_IN_GROUPS = Cut(250_000, 250_000)
"""The same where every record is handed on with its key."""


@dataclass(frozen=True)
class Range:
    """Consecutive records of one partition."""

    source: str
    """An input stream, or the output."""
    partition: int
    start: int
    stop: int


def ranges(
    extents: Mapping[str, list[tuple[int, int]]], aligned: int, size: int = READ.range
) -> list[Range]:
    """Cut every partition into ranges that begin at multiples of `aligned`.

    Raises:
        TrialInvalid: The beginning of a partition is gone.
    """
    step = max(1, size // aligned) * aligned
    found = []
    for source, extent in extents.items():
        for partition, (low, high) in enumerate(extent):
            if low != 0:
                raise TrialInvalid(
                    f"{source} cannot be read back: the first {low} records of partition "
                    f"{partition} are gone",
                    "Use a broker that keeps the records until the trial is over.",
                )
            found += [
                Range(source, partition, start, min(start + step, high))
                for start in range(0, high, step)
            ]
    return found


def buckets(records: Iterable[tuple[int, Cut]]) -> int:
    """Return into how many buckets these records go, of sources that are cut in that way."""
    return max(1, math.ceil(sum(count / cut.bucket for count, cut in records)))
