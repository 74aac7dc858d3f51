"""The harness's side of one sender: start it, send it commands, read its answers."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Self, TypeVar

from streamgauge import process
from streamgauge.errors import TrialInvalid
from streamgauge.load.links import ChildLink, Link
from streamgauge.load.protocol import (
    LINES,
    Command,
    Line,
    Marker,
    Markers,
    Overrun,
    Ready,
    SenderJob,
    Sent,
    TickLine,
)

_MARKERS_S = 60.0
_CONFIGURATION_S = 600.0
_PATIENCE_S = 0.1
"""The longest time that one reader keeps another waiting."""
T = TypeVar("T", Ready, Markers, Sent)


class SenderHandle:
    """A running sender; leaving the context stops it."""

    def __init__(self, link: Link, pid: int) -> None:
        self.check: Callable[[], None] = lambda: None
        """Called while the sender is waited for; raises when waiting is useless."""
        self.pid = pid
        """Id of the process on this machine that sends, or lets others send."""
        self._link = link
        self._hearing = threading.Lock()
        """A probe asks for ticks from a thread of its own."""
        self._unread = b""
        self._answer: Line | None = None
        self._tick: TickLine | None = None
        self._sent: Sent | None = None
        self._overrun: str | None = None

    @classmethod
    def start(
        cls,
        job: SenderJob,
        path: Path,
        *,
        program: str,
        env: Mapping[str, str] | None = None,
        affinity: Collection[int] | None = None,
    ) -> SenderHandle:
        """Start the process; it begins to render payloads at once.

        Args:
            job: What it does.
            path: Where its job file goes; the log of that name goes to `logs`.
            program: The module that does it.
            env: What it must know and no file may contain.
            affinity: Numbers of the CPUs it may use.
        """
        path.write_text(job.model_dump_json(indent=1) + "\n", encoding="utf-8")
        child = process.start(
            [sys.executable, "-m", program, path],
            log=path.parent / "logs" / f"{path.stem}.log",
            env=env,
            affinity=affinity,
            pipe_stdin=True,
            pipe_stdout=True,
        )
        return cls(ChildLink(child), child.pid)

    def ready(self, timeout_s: float) -> None:
        """Wait until the payloads are rendered and the broker answers."""
        self._await(Ready, timeout_s)

    def configuration(self) -> None:
        """Send the streams that go before the load, and wait until they are taken."""
        self._ask(Command(do="configuration"))
        self._await(Markers, _CONFIGURATION_S)

    def markers(self) -> list[Marker]:
        """Send one marker to every input partition; return them with their offsets."""
        self._ask(Command(do="markers"))
        return self._await(Markers, _MARKERS_S).markers

    def sentinels(self) -> list[Marker]:
        """Send one sentinel to every input partition; return them with their offsets."""
        self._ask(Command(do="sentinels"))
        return self._await(Markers, _MARKERS_S).markers

    def begin(self, start_ms: int) -> None:
        """Let the load begin at that time, epoch milliseconds, and return at once."""
        self._ask(Command(do="begin", start_ms=start_ms))

    def poll(self) -> TickLine | None:
        """Return the newest tick, None before the first."""
        self._hear(0)
        return self._tick

    @property
    def finished(self) -> bool:
        """Return whether the load is over and every record acknowledged or given up."""
        self._hear(0)
        return self._sent is not None

    def sent(self, timeout_s: float) -> Sent:
        """Wait for the end of the load and return its result."""
        return self._sent or self._await(Sent, timeout_s)

    def end(self, timeout_s: float) -> None:
        """Let the process end."""
        self._ask(Command(do="end"))
        if not self._link.ended(timeout_s):
            raise TrialInvalid(f"the sender did not end within {timeout_s:g} s")

    def failure(self) -> str | None:
        """Return why the process ended, None while it runs."""
        return self._link.failure()

    def overrun(self) -> str | None:
        """Return why the engine cannot take what is offered; None as long as it can."""
        return self._overrun

    def stop(self) -> None:
        """End the process at once, whatever it does."""
        self._link.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _ask(self, command: Command) -> None:
        try:
            self._link.write(command.model_dump_json().encode() + b"\n")
        except (OSError, ValueError) as error:  # ValueError: closed, since the child ended
            raise self._died() from error

    def _await(self, kind: type[T], timeout_s: float) -> T:
        """Wait for an answer of that kind."""
        deadline = time.monotonic() + timeout_s
        while not isinstance(answer := self._answer, kind):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TrialInvalid(
                    f"the sender gave no {kind.__name__.lower()} within {timeout_s:g} s;"
                    f" {self._link.log_tail()}"
                )
            if not self._hear(min(left_s, _PATIENCE_S)):
                raise self._died()
            self.check()
        self._answer = None
        return answer

    def _hear(self, timeout_s: float) -> bool:
        """Take in the available lines, after waiting for any; False at their end."""
        with self._hearing:
            new = self._link.read(timeout_s)
            if new is None:
                return True
            *lines, self._unread = (self._unread + new).split(b"\n")
            for line in lines:
                self._take(LINES.validate_json(line))
            return bool(new)

    def _take(self, line: Line) -> None:
        if isinstance(line, TickLine):
            self._tick = line
            return
        if isinstance(line, Overrun):
            self._overrun = self._overrun or line.reason
            return
        if isinstance(line, Sent):
            self._sent = line
        self._answer = line

    def _died(self) -> TrialInvalid:
        self._link.ended(1)
        return TrialInvalid(f"the sender died: {self._link.failure()}")
