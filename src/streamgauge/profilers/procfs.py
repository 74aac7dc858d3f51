"""The back end procfs: no stacks, only the CPU time of threads, which the kernel always has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from streamgauge.profilers.census import Target
from streamgauge.profilers.sampler import Sampling, Seen


class Procfs:
    """What is left when no other back end can sample."""

    name: ClassVar[str] = "procfs"
    hz: ClassVar[float] = 0.0

    def start(self, target: Target, folder: Path) -> Sampling:  # noqa: ARG002 - others need them
        """Do nothing: the census counts all threads anyway."""
        return _Sampling()


class _Sampling:
    pid: int | None = None

    def stop(self) -> None:
        pass

    def read(self) -> Iterator[Seen]:
        yield from ()
