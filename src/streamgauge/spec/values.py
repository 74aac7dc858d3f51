"""Plain values that everybody hands on."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

Json = JsonValue


@dataclass(frozen=True)
class Span:
    """A stretch of time, epoch milliseconds."""

    start_ms: int
    end_ms: int
