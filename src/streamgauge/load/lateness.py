"""How late records were sent: every record counts, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

_PER_S = 100_000
RESOLUTION_NS = 1_000_000_000 // _PER_S
_PERMILLE = {"p50": 500, "p90": 900, "p95": 950, "p99": 990, "p99_9": 999}


class Lateness:
    """Counts of records by lateness, in steps of 10 µs."""

    def __init__(self) -> None:
        self._steps: Counter[int] = Counter()

    @property
    def counts(self) -> dict[int, int]:
        """Return the records of each step."""
        return dict(self._steps)

    def merge(self, counts: Mapping[int, int]) -> None:
        """Add what another has counted."""
        self._steps.update(counts)

    def add(self, lateness_ns: int, records: int) -> None:
        """Count records that were at most that late."""
        self._steps[lateness_ns // RESOLUTION_NS] += records

    def statistics(self) -> dict[str, float]:
        """Return seconds by name; a percentile only where the sample carries it, rounded up."""
        total = self._steps.total()
        if not total:
            return {}
        steps = sorted(self._steps)
        wanted = {
            name: -(-share * total // 1000)
            for name, share in _PERMILLE.items()
            if total * (1000 - share) >= 1000
        }
        found = {"min": _seconds(steps[0]), "max": _seconds(steps[-1])}
        found["mean"] = sum(_seconds(s) * n for s, n in self._steps.items()) / total
        reached, names = 0, list(wanted)
        for step in steps:
            reached += self._steps[step]
            while names and reached >= wanted[names[0]]:
                found[names.pop(0)] = _seconds(step)
        return found


def _seconds(step: int) -> float:
    return (step + 1) / _PER_S
