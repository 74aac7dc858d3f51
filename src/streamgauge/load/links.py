"""Ways to a sender: through the pipes of a child of ours, or through a socket to a Spark task."""

from __future__ import annotations

import os
import select
import socket
from typing import Protocol

from streamgauge.process import Process

_CHUNK = 65_536


class Link(Protocol):
    """Lines to and from one sender, and whether it is still there."""

    def write(self, line: bytes) -> None:
        """Send a line; OSError or ValueError when the other side is gone."""

    def read(self, timeout_s: float) -> bytes | None:
        """Return what was received, None when nothing came in time, b"" at the end."""

    def ended(self, timeout_s: float) -> bool:
        """Wait for the sender's end; return whether it came within the limit."""

    def failure(self) -> str | None:
        """Return why the sender ended, log tail included, None while it runs."""

    def log_tail(self) -> str:
        """Return the end of what the sender wrote elsewhere."""

    def stop(self) -> None:
        """End the sender at once, whatever it does."""


class ChildLink:
    """A sender that is our own child."""

    def __init__(self, child: Process) -> None:
        self._child = child

    def write(self, line: bytes) -> None:
        """Write to the child's stdin."""
        assert self._child.stdin is not None
        self._child.stdin.write(line)
        self._child.stdin.flush()

    def read(self, timeout_s: float) -> bytes | None:
        """Read from the child's stdout."""
        pipe = self._child.stdout
        if pipe is None or pipe.closed:
            return b""
        if not select.select([pipe], [], [], timeout_s)[0]:
            return None
        return os.read(pipe.fileno(), _CHUNK)

    def ended(self, timeout_s: float) -> bool:
        """Wait for the child."""
        return self._child.wait(timeout_s)

    def failure(self) -> str | None:
        """Return how the child ended."""
        return None if self._child.alive else self._child.failure()

    def log_tail(self) -> str:
        """Return the end of the child's log."""
        return f"end of {self._child.log}:\n{self._child.log_tail()}"

    def stop(self) -> None:
        """Stop the child."""
        self._child.stop()


class SocketLink:
    """A sender that is a task of a Spark job, whose driver is our child."""

    def __init__(self, connection: socket.socket, driver: Process) -> None:
        self._connection = connection
        self._driver = driver
        self._closed = False

    def write(self, line: bytes) -> None:
        """Send to the task."""
        self._connection.sendall(line)

    def read(self, timeout_s: float) -> bytes | None:
        """Receive from the task."""
        if self._closed:
            return b""
        if not select.select([self._connection], [], [], timeout_s)[0]:
            return None
        try:
            new = self._connection.recv(_CHUNK)
        except OSError:
            new = b""
        self._closed = not new
        return new

    def ended(self, timeout_s: float) -> bool:
        """Wait for the task to hang up."""
        while not self._closed:
            if self.read(timeout_s) is None:
                return False
        return True

    def failure(self) -> str | None:
        """Return how the job ended, or that the task is gone."""
        if not self._driver.alive:
            return self._driver.failure()
        if self._closed or self._hung_up():
            return f"a task of the Spark job is gone; {self.log_tail()}"
        return None

    def log_tail(self) -> str:
        """Return the end of the job's log."""
        return f"end of {self._driver.log}:\n{self._driver.log_tail()}"

    def stop(self) -> None:
        """Hang up, which ends the task, and stop the job."""
        self._connection.close()
        self._closed = True
        self._driver.stop()

    def _hung_up(self) -> bool:
        """Check whether the other side is gone, without taking anything."""
        if not select.select([self._connection], [], [], 0)[0]:
            return False
        try:
            return not self._connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True
