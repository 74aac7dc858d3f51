"""How late records were sent: every record counts, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from streamgauge.measure.statistics import summarize

_PER_S = 100_000
RESOLUTION_NS = 1_000_000_000 // _PER_S


class Lateness:
    """Counts of records by lateness, in steps of 10 µs."""

    def __init__(self) -> None:
        self._steps: Counter[int] = Counter()

    @property
    def counts(self) -> dict[int, int]:
        """Return the records of each step."""
        return dict(self._steps)

    def merge(self, counts: Mapping[int, int]) -> None:
        """Add the counts of another."""
        self._steps.update(counts)

    def add(self, lateness_ns: int, records: int) -> None:
        """Count records that were at most that late."""
        self._steps[lateness_ns // RESOLUTION_NS] += records

    def statistics(self) -> dict[str, float]:
        """Return seconds by name; a percentile only where the sample carries it, rounded up."""
        steps = np.array([*self._steps], dtype=np.int64)
        records = np.array([*self._steps.values()], dtype=np.int64)
        return summarize((steps + 1) / _PER_S, records)
