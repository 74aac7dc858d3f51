"""The clock by which a load is sent: that of the machine, or one that never waits."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What a sender needs of a clock; the module `time` is one."""

    def time_ns(self) -> int:
        """Return the time since the epoch."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""


class HurriedClock:
    """Skips all times in which there would be nothing to do.

    With it a backlog has the times of its schedule, and is sent as fast as possible.
    """

    def __init__(self) -> None:
        self._ahead_ns = 0

    def time_ns(self) -> int:
        """Return the time since the epoch, plus all that was skipped."""
        return time.time_ns() + self._ahead_ns

    def sleep(self, seconds: float, /) -> None:
        """Skip that time."""
        self._ahead_ns += round(seconds * 1e9)
