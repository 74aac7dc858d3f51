"""The back end jfr: Java's own recorder, for Java's own threads only."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from streamgauge.profilers.attach import attach
from streamgauge.profilers.census import Target
from streamgauge.profilers.sampler import Refused, Sampling, Seen

_NAME = "streamgauge"
_DEPTH = 256
_THREAD = re.compile(r'\s*sampledThread = "(.*)" \(')
_FRAME = re.compile(r"\s*([\w.$/<>]+)\(")
_HIDDEN = re.compile(r"[/.+]0x[0-9a-f]+")


class Jfr:
    """Sees only Java's own frames: no garbage collection, compilation or native code."""

    name: ClassVar[str] = "jfr"
    hz: ClassVar[float] = 100.0
    """For all threads together, by the settings `profile`: every 10 ms."""

    def start(self, target: Target, folder: Path) -> Sampling:
        """Let the process begin to record."""
        if not shutil.which("jfr"):
            raise Refused("there is no program jfr, which comes with a JDK but not with a JRE")
        with suppress(Refused):  # it can be set only before the first recording
            attach(target.pid, "jcmd", f"JFR.configure stackdepth={_DEPTH}")
        answer = attach(target.pid, "jcmd", f"JFR.start name={_NAME} settings=profile")
        if "Started" not in answer:
            raise Refused(answer.strip().partition("\n")[0])
        return _Sampling(target.pid, (folder / f"{target.pid}.jfr").absolute())


class _Sampling:
    pid: int | None = None

    def __init__(self, target: int, file: Path) -> None:
        self._target, self._file = target, file

    def stop(self) -> None:
        with suppress(Refused):  # it has ended
            attach(self._target, "jcmd", f"JFR.stop name={_NAME} filename={self._file}")

    def read(self) -> Iterator[Seen]:
        if not self._file.exists():
            raise Refused("the Java process ended while it was sampled")
        command = ["jfr", "print", "--events", "jdk.ExecutionSample"]
        command += ["--stack-depth", str(_DEPTH), str(self._file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as printed:
            assert printed.stdout is not None
            yield from read_lines(self._target, printed.stdout)


def read_lines(pid: int, lines: Iterable[str]) -> Iterator[Seen]:
    """Read what `jfr print` writes for jdk.ExecutionSample, the leaf of each stack first."""
    thread, frames = "", list[str]()
    for line in lines:
        if found := _THREAD.match(line):
            thread = found[1]
        elif line.startswith("}"):
            yield Seen(pid, None, thread, tuple(reversed(frames)), 1)
            thread, frames = "", []
        elif frame := _FRAME.match(line):
            frames.append(_HIDDEN.sub("", frame[1]))
