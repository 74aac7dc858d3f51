"""The clock by which a load is sent: that of the machine, or one that waits for nothing."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What a sender asks of a clock; the module `time` is one."""

    def time_ns(self) -> int:
        """Return the time since the epoch."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""


class HurriedClock:
    """Passes over all times in which there would be nothing to do.

    By it a backlog has the times of its schedule, and is sent as fast as that can be done.
    """

    def __init__(self) -> None:
        self._ahead_ns = 0

    def time_ns(self) -> int:
        """Return the time since the epoch, and all that was passed over."""
        return time.time_ns() + self._ahead_ns

    def sleep(self, seconds: float, /) -> None:
        """Pass over that time."""
        self._ahead_ns += round(seconds * 1e9)
