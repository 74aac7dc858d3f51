"""Plain values that everybody hands on."""

from __future__ import annotations

from dataclasses import dataclass

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True)
class Span:
    """A stretch of time, epoch milliseconds."""

    start_ms: int
    end_ms: int
