"""Stages 5 and 6 with custom state: what a point has in each second, kept by our code.

Spark calls it for each point with the joined lanes that have come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from streamgauge.garbage import keep_imports

SECOND_MS = 1000
_KEY = "second long"
_PART = "lanes int, wanted int, flow long, speed double, publish long"


@dataclass(frozen=True)
class Part:
    """What has arrived from a point's lanes in a second."""

    lanes: int = 0
    wanted: int = 0
    """Lanes of the point."""
    flow: int = 0
    speed: float = 0.0
    """Sum of the lanes."""
    publish: int = 0

    @property
    def complete(self) -> bool:
        """Return whether all lanes are there."""
        return 0 < self.wanted == self.lanes

    def plus(self, lane: Row) -> Part:
        """Add a lane."""
        return Part(
            self.lanes + 1,
            lane.lanes,
            self.flow + lane.flow,
            self.speed + lane.speed,
            max(self.publish, lane.publish),
        )


class Seconds(StatefulProcessor):
    """Keeps the seconds of each point until all that are compared are complete.

    The emitted seconds have columns for each of those: `lanes0,flow0,speed0,flow1 …`.
    """

    def __init__(self, backs: Sequence[int]) -> None:
        self._backs = backs
        """How many seconds before an answer's second they are; the first one is 0."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state of this task."""
        keep_imports()
        self._handle = handle
        self._parts = handle.getMapState("parts", _KEY, _PART)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Add lanes, and emit what they complete."""
        parts: dict[int, Part | None] = {}
        touched = set()
        for row in rows:
            second = int(row.second)
            before = self._part(second, parts)
            parts[second] = (before or Part()).plus(row)
            touched.add(second)
            if before is None:
                self._handle.registerTimer(self._over_ms(second))
        for second in touched:
            part = parts[second]
            assert part is not None
            self._parts.updateValue(
                (second,), (part.lanes, part.wanted, part.flow, part.speed, part.publish)
            )
        for second in sorted(self._targets(touched, parts)):
            looks = ((back, self._part(second - back * SECOND_MS, parts)) for back in self._backs)
            seen = {back: part for back, part in looks if part is not None and part.complete}
            if len(seen) == len(self._backs):
                yield _row(key[0], second, seen)

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        timerValues: TimerValues,  # noqa: ARG002, N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        """Forget the second for which nothing can arrive any more."""
        self._parts.removeKey((self._second_of(expiredTimerInfo.getExpiryTimeInMs()),))
        return iter(())

    def close(self) -> None:
        """Leave nothing open."""

    def _part(self, second: int, parts: dict[int, Part | None]) -> Part | None:
        """Look a second up, once."""
        if second not in parts:
            found = self._parts.getValue((second,))
            parts[second] = None if found is None else Part(*found)
        return parts[second]

    def _targets(self, touched: Iterable[int], parts: dict[int, Part | None]) -> set[int]:
        """Return the seconds that may have an answer now."""
        complete = [second for second in touched if (part := parts[second]) and part.complete]
        return {second + back * SECOND_MS for second in complete for back in self._backs}

    def _over_ms(self, second: int) -> int:
        return second + SECOND_MS * (1 + max(self._backs))

    def _second_of(self, over_ms: int) -> int:
        return over_ms - SECOND_MS * (1 + max(self._backs))


def kept(pairs: DataFrame, backs: Sequence[int]) -> DataFrame:
    """Return the seconds of each point for which all that are compared are complete.

    Args:
        pairs: Flow and speed of lanes, joined.
        backs: How many seconds back those are.
    """
    columns = [f"lanes{back} int, flow{back} long, speed{back} double" for back in backs]
    needed = pairs.select("window", "point", "second", "lanes", "flow", "speed", "publish")
    return needed.groupBy("point").transformWithState(
        statefulProcessor=Seconds(backs),
        outputStructType=f"second long, point string, {', '.join(columns)}, publish long",
        outputMode="Append",
        timeMode="EventTime",
    )


def _row(point: str, second: int, seen: Mapping[int, Part]) -> Row:
    columns: dict[str, Any] = {"second": second, "point": point}
    for back, part in seen.items():
        columns |= {f"lanes{back}": part.lanes, f"flow{back}": part.flow}
        columns[f"speed{back}"] = part.speed / part.lanes
    return Row(**columns, publish=max(part.publish for part in seen.values()))
