"""What all processes that offer a load have in common: they do what lines on stdin ask for."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from streamgauge.load.protocol import Command, Line, Markers, Ready, Sent

_PR_SET_TIMERSLACK = 29
_speaking = threading.Lock()


class Offers(Protocol):
    """A load that is ready to be sent."""

    say: Callable[[Line], None]

    def configuration(self) -> Markers:
        """Send the streams that go before the load, as a whole; return the last of each."""

    def markers(self) -> Markers:
        """Put one marker into every input partition."""

    def sentinels(self) -> Markers:
        """Put one sentinel into every input partition."""

    def load(self, start_ms: int) -> Sent:
        """Send the load from that time on, and sum it up."""


def say(line: Line) -> None:
    """Print a line to the harness; several threads may."""
    with _speaking:
        sys.stdout.write(line.model_dump_json() + "\n")
        sys.stdout.flush()


def serve(offers: Offers, lines: Iterable[str]) -> None:
    """Report that all is ready, then do what the lines ask for, one after the other."""
    # The payloads are millions of objects that never die: the collector must not scan them.
    gc.collect()
    gc.freeze()
    gc.disable()
    # Now, and not before: librdkafka's threads would inherit it, and they spin while the broker
    # is slow to answer, which starves a broker on the same machine.
    offers.say(Ready(fifo=prefer_this_thread()))
    for line in lines:
        command = Command.model_validate_json(line)
        if command.do == "configuration":
            offers.say(offers.configuration())
        elif command.do == "markers":
            offers.say(offers.markers())
        elif command.do == "sentinels":
            offers.say(offers.sentinels())
        elif command.do == "begin" and command.start_ms is not None:
            offers.say(offers.load(command.start_ms))
        else:
            return


def prefer_this_thread() -> bool:
    """Ask for exact timers and, where permitted, for real-time scheduling."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    return True
