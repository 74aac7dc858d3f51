"""How a transport offers a load: by which program, and as a backlog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Backlog:
    """What is offered at first to guess a rate: records that lie there before the engine starts."""

    rate: float = 100_000.0
    duration_s: float = 10.0
    greater: Mapping[float, int] = field(default_factory=dict)
    """Times of it that follow where an engine was through in so many seconds: most of them may
    have been its start."""

    @property
    def records(self) -> float:
        """How many lie there per input stream."""
        return self.rate * self.duration_s


@dataclass(frozen=True)
class Sending:
    """The program that sends the load: it is given the path of a `SenderJob`."""

    program: str = "streamgauge.load.sender"
    """A module; the default sends what `TakesRecords.outgoing` takes."""
    env: Mapping[str, str] = field(default_factory=dict)
    """What it must know and no file may say."""
