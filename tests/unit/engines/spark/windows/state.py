"""State of a group of keys without Spark, with the names that Spark gives to what it can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor


class _Map:
    def __init__(self) -> None:
        self.rows: dict[tuple[int], tuple[Any, ...]] = {}
        self.getValue = self.rows.get
        self.updateValue = self.rows.__setitem__
        self.removeKey = self.rows.pop

    def iterator(self) -> Any:
        return list(self.rows.items())


class _Value:
    def __init__(self) -> None:
        self._value: tuple[Any, ...] | None = None

    def get(self) -> tuple[Any, ...] | None:
        return self._value

    def update(self, value: tuple[Any, ...]) -> None:
        self._value = value


class Group:
    """Calls a processor as Spark does: with rows, then for every timer that is over."""

    def __init__(self, processor: StatefulProcessor) -> None:
        self.kept, self.timers = _Map(), set[int]()
        value = _Value()
        self.getMapState = lambda *_: self.kept
        self.getValueState = lambda *_: value
        self.registerTimer = self.timers.add
        self._processor = processor
        processor.init(self)  # type: ignore[arg-type]

    def batch(self, rows: Sequence[dict[str, Any]], watermark_ms: int) -> list[dict[str, Any]]:
        """Hand rows over, let the watermark pass, and return what is put out."""
        if rows:
            frames = [pd.DataFrame(rows[:2]), pd.DataFrame(rows[2:])] if rows[2:] else None
            frames = frames or [pd.DataFrame(rows)]
            assert list(self._processor.handleInputRows((0,), iter(frames), None)) == []  # type: ignore[arg-type]
        found = []
        for at_ms in sorted(at for at in self.timers if at <= watermark_ms):
            told: Any = [_Watermark(watermark_ms), _Expired(at_ms)]
            for frame in self._processor.handleExpiredTimer((0,), *told):
                found += frame.to_dict("records")
            self.timers.discard(at_ms)
        return found


class _Watermark:
    def __init__(self, at_ms: int) -> None:
        self.getCurrentWatermarkInMs = lambda: at_ms


class _Expired:
    def __init__(self, at_ms: int) -> None:
        self.getExpiryTimeInMs = lambda: at_ms
