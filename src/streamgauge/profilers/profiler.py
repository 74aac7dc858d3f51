"""The profilers by name: the best back end for each process, or one that was asked for."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from streamgauge.errors import NotReady
from streamgauge.profilers import py_spy
from streamgauge.profilers.async_profiler import COMPONENT, AsyncProfiler
from streamgauge.profilers.jfr import Jfr
from streamgauge.profilers.looking import Backends, Looking
from streamgauge.profilers.perf import Perf
from streamgauge.profilers.procfs import Procfs
from streamgauge.profilers.py_spy import PySpy
from streamgauge.services import jars
from streamgauge.spec.jobs import Problem

_OTHERS: Backends = {"python": (PySpy, Procfs), "native": (Perf, Procfs)}


class Auto:
    """The best usable back end for each process."""

    backends: ClassVar[Backends] = {"java": (AsyncProfiler, Perf, Jfr, Procfs), **_OTHERS}

    def __init__(self) -> None:
        self._looking: Looking | None = None

    def check(self) -> list[Problem]:
        """Fetch the library while there is time; if that fails, other back ends are used."""
        try:
            jars.ensure(COMPONENT)
        except NotReady:
            return []
        return []

    @contextmanager
    def record(self, processes: Callable[[], Sequence[int]], folder: Path) -> Iterator[None]:
        """Sample the stacks of all processes below some roots."""
        looking = self._looking = Looking(self.backends, processes, folder)
        looking.begin()
        try:
            yield
        finally:
            looking.end()

    def read(self) -> None:
        """Write what was sampled; takes seconds, so the engine should have ended."""
        if self._looking is not None:
            self._looking.write()


class OnlyAsyncProfiler(Auto):
    """Java by async-profiler or not at all."""

    backends: ClassVar[Backends] = {"java": (AsyncProfiler, Procfs), **_OTHERS}

    def check(self) -> list[Problem]:
        """Fetch the library; return a problem if that fails."""
        try:
            jars.ensure(COMPONENT)
        except NotReady as error:
            return [Problem(error.message, error.remedy or "Use --profile auto.")]
        return []


class OnlyPerf(Auto):
    """Everything by perf or not at all."""

    backends: ClassVar[Backends] = dict.fromkeys(("java", "python", "native"), (Perf, Procfs))

    def check(self) -> list[Problem]:
        """Return what is missing on this machine."""
        return _without_program("perf", "Install it, or use --profile auto.")


class OnlyJfr(Auto):
    """Java by its own recorder or not at all."""

    backends: ClassVar[Backends] = {"java": (Jfr, Procfs), **_OTHERS}

    def check(self) -> list[Problem]:
        """Return what is missing on this machine."""
        return _without_program("jfr", "Install a JDK, or use --profile auto.")


class OnlyPySpy(Auto):
    """Python by py-spy; for all others the CPU time of threads."""

    backends: ClassVar[Backends] = {
        "java": (Procfs,),
        "python": (PySpy, Procfs),
        "native": (Procfs,),
    }

    def check(self) -> list[Problem]:
        """Return a problem if it is missing."""
        if py_spy.program() is not None:
            return []
        return [Problem("py-spy is not installed", "Install it, or use --profile auto.")]


class OnlyProcfs(Auto):
    """The CPU time of threads, without stacks."""

    backends: ClassVar[Backends] = dict.fromkeys(("java", "python", "native"), (Procfs,))

    def check(self) -> list[Problem]:
        """Find nothing missing: the kernel has the CPU time."""
        return []


def _without_program(name: str, remedy: str) -> list[Problem]:
    return [] if shutil.which(name) else [Problem(f"there is no program {name}", remedy)]
