"""Cut what was recorded into ranges, each the work of one task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.errors import TrialInvalid

RANGE = 50_000
"""Records in a range, about."""
GENERATED_RANGE = 1_000_000
"""The same of records that are generated, not read: their columns need no parsing."""
GENERATED_RANGE_OF_GROUPS = 250_000
"""The same where every record is handed on with its key."""
BUCKET = 50_000
"""Records whose keys fall into one bucket, about."""


@dataclass(frozen=True)
class Range:
    """Consecutive records of one partition."""

    source: str
    """An input stream, or the output."""
    partition: int
    start: int
    stop: int


def ranges(
    extents: Mapping[str, list[tuple[int, int]]], aligned: int, size: int = RANGE
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


def buckets(records: int) -> int:
    """Tell into how many buckets so many records go."""
    return max(1, math.ceil(records / BUCKET))
