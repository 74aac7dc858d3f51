"""How a transport offers a load: by which program, and as a backlog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Backlog:
    """Records that are sent before the engine starts, to guess the rate that it reaches."""

    rate: float = 100_000.0
    duration_s: float = 10.0
    greater: Mapping[float, int] = field(default_factory=dict)
    """How many times as many records to try next, by the most seconds that an engine needed for
    these: most of them may have been its start."""

    @property
    def records(self) -> float:
        """How many records there are per input stream."""
        return self.rate * self.duration_s


@dataclass(frozen=True)
class Sending:
    """The program that sends the load; its argument is the path of a `SenderJob`."""

    program: str = "streamgauge.load.sender"
    """A module; the default sends what `TakesRecords.outgoing` takes."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Secrets that it needs, which no file may hold."""
