"""What the doctor says about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "missing"]


@dataclass(frozen=True)
class Finding:
    """The result of a check; `missing` keeps a run from starting, `warn` may spoil its numbers."""

    name: str
    state: State
    value: str
    remedy: str | None = None
