"""What a profiler promises: it looks into the engine's processes while a trial is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

from streamgauge.spec.jobs import Problem


class Profiler(Protocol):
    """Something that is registered under `streamgauge.profilers` and made without arguments."""

    def check(self) -> list[Problem]:
        """Return what is missing on this machine; empty when ready."""

    def record(
        self, processes: Callable[[], Sequence[int]], folder: Path
    ) -> AbstractContextManager[None]:
        """Look into the engine; entered when the measured span begins, left when it ends.

        The trial waits for both, so neither may take long.

        Args:
            processes: Returns the process ids at the roots of the engine's process trees.
            folder: A folder of its own, in that of the trial.
        """


@runtime_checkable
class ReadsLater(Protocol):
    """Ability of a profiler: its recordings take time to read."""

    def read(self) -> None:
        """Read them, and write the result into the same folder; the engine has ended by then."""
