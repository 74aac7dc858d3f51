"""Plain values that are used everywhere."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

Json = JsonValue


@dataclass(frozen=True)
class Span:
    """A stretch of time, epoch milliseconds."""

    start_ms: int
    end_ms: int

    @property
    def length_s(self) -> float:
        """How long it is."""
        return (self.end_ms - self.start_ms) / 1000
