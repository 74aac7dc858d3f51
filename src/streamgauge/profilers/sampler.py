"""The interface of a back end: it samples the stacks of one process, or says why it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from streamgauge.profilers.census import Target

HZ = 99.0
"""Samples a second of CPU time; not 100, so that it does not keep step with what runs at 100."""


class Refused(Exception):
    """A back end cannot sample a process; the next one may."""


@dataclass(frozen=True)
class Seen:
    """One stack of one thread."""

    pid: int
    thread: int | None
    """Its id; None where the back end does not report it."""
    name: str
    """What the back end calls the thread; may be empty."""
    frames: tuple[str, ...]
    """From the root to the leaf; none where the stack could not be walked."""
    count: int


class Sampling(Protocol):
    """Sampling under way."""

    @property
    def pid(self) -> int | None:
        """The process that samples; None where the sampled process does it itself."""

    def stop(self) -> None:
        """End it at once; the samples are read later. Never raises when the process is gone."""

    def read(self) -> Iterator[Seen]:
        """Yield the samples, once; Refused if nothing could be sampled."""


class Backend(Protocol):
    """A way to sample stacks."""

    name: ClassVar[str]
    hz: ClassVar[float]
    """Samples a second that it asks for; 0 where it takes none."""

    def start(self, target: Target, folder: Path) -> Sampling:
        """Begin to sample the stacks of a process.

        Raises:
            Refused: It cannot; the reason follows "because".
        """
