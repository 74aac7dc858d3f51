"""What a back end promises: it takes stacks of one process, or says why it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from streamgauge.profilers.census import Target

HZ = 99.0
"""Samples a second of CPU time; not 100, so that it keeps no step with what runs at 100."""


class Refused(Exception):
    """A back end cannot look at a process; the next one may."""


@dataclass(frozen=True)
class Seen:
    """One stack of one thread."""

    pid: int
    thread: int | None
    """Its number; None where the back end does not tell it."""
    name: str
    """What the back end calls the thread; may be empty."""
    frames: tuple[str, ...]
    """From the root to the leaf; none where the stack could not be walked."""
    count: int


class Sampling(Protocol):
    """Sampling that is going on."""

    @property
    def pid(self) -> int | None:
        """The process that samples; None where the sampled process does it itself."""

    def stop(self) -> None:
        """End it at once; what was taken is read later. Never raises when the process is gone."""

    def read(self) -> Iterator[Seen]:
        """Yield what was taken, once; Refused where that is nothing but trouble."""


class Backend(Protocol):
    """A way to take stacks."""

    name: ClassVar[str]
    hz: ClassVar[float]
    """Samples a second that it asks for; 0 where it takes none."""

    def start(self, target: Target, folder: Path) -> Sampling:
        """Begin to take stacks of a process.

        Raises:
            Refused: It cannot; the reason follows "because".
        """
