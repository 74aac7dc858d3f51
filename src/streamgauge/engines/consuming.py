"""What the processes of our own engines share: they report progress and end on SIGTERM."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from streamgauge.jobfile import ProgressWriter

_REPORT_S = 1.0
_IDLE_REPORT_S = 0.1


class Reporter:
    """Reports progress once a second, and soon when there is nothing left to do."""

    def __init__(self, writer: ProgressWriter, clock: Callable[[], float] = time.monotonic) -> None:
        self._writer = writer
        self._clock = clock
        self._reported_s = float("-inf")
        self._worked = False

    def due(self, idle: bool) -> bool:
        """Return whether it is time for a report, after working or finding nothing to do."""
        self._worked = self._worked or not idle
        limit_s = _IDLE_REPORT_S if idle and self._worked else _REPORT_S
        return self._clock() - self._reported_s >= limit_s

    def report(self, finished: dict[str, list[int]], idle: bool) -> None:
        """Report now."""
        self._writer.report(finished, idle)
        self._reported_s, self._worked = self._clock(), False


def stop_on_sigterm() -> threading.Event:
    """Return what is set once this process is asked to end."""
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    signal.signal(signal.SIGTERM, stop)
    return stopped
