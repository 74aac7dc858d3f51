"""The back end py-spy: reads the stacks of Python processes from outside."""

from __future__ import annotations

import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from streamgauge import process
from streamgauge.profilers.census import Target
from streamgauge.profilers.sampler import Refused, Sampling, Seen

_PROCESS = re.compile(r'process (\d+):"')
_THREAD = re.compile(r"thread \((\d+)\)")
_ERRORS = re.compile(r"Errors: (\d+)")
_PACKAGES = re.compile(r"\([^()]*(?:site|dist)-packages/")
_LIBRARY = re.compile(r"\([^()]*/lib/python3\.\d+/")
_OWN = re.compile(r"\((?:[^()]*/)?([^/()]+/[^/()]+/[^/()]+\.py:\d+\)$)")
_BEGINS_S = 10.0
_ENDS_S = 10.0


class PySpy:
    """Also sees the Python processes below the first one, including those that appear later."""

    name: ClassVar[str] = "py-spy"
    hz: ClassVar[float] = 49.0
    """Half the rate of others: it stops the process for each sample."""

    def start(self, target: Target, folder: Path) -> Sampling:
        """Start py-spy, and wait until it samples."""
        found = program()
        if found is None:
            raise Refused("py-spy is not installed")
        output, log = folder / f"{target.pid}.raw", folder / f"{target.pid}.py-spy.log"
        options = ["--subprocesses", "--format", "raw", "--threads", "--rate", f"{self.hz:g}"]
        options += ["--duration", "unlimited", "--full-filenames", "--output", str(output)]
        started = process.start(
            [found, "record", "--pid", str(target.pid), *options],
            log=log,
            stop_signal=signal.SIGINT,
            detached=folder,  # any thread may start it: it ends with the process that it samples
        )
        sampling = _Sampling(started, output)
        try:
            sampling.await_begin()
        except BaseException:
            started.kill()
            raise
        return sampling


class _Sampling:
    def __init__(self, started: process.Process, output: Path) -> None:
        self.pid: int | None = started.pid
        self._process, self._output = started, output

    def await_begin(self) -> None:
        """Wait until the first sample can be taken.

        Raises:
            Refused: It gave up.
        """
        end_s = time.monotonic() + _BEGINS_S
        while "Sampling process" not in self._process.log_tail():
            if self._process.wait(0.02) or time.monotonic() > end_s:
                raise Refused(_reason(self._process.log_tail()))

    def stop(self) -> None:
        self._process.stop(_ENDS_S)

    def read(self) -> Iterator[Seen]:
        try:
            text = self._output.read_text("utf-8", "replace")
        except FileNotFoundError:
            raise Refused(_reason(self._process.log_tail())) from None
        for line in text.splitlines():
            if seen := read_line(line):
                yield seen
        errors = _ERRORS.search(self._process.log_tail())
        if errors is not None and int(errors[1]):
            yield Seen(int(self._output.stem), None, "", (), int(errors[1]))


def read_line(line: str) -> Seen | None:
    """Read a line of its output: processes, the thread, then frames from the root, and a count."""
    text, _, count = line.rpartition(" ")
    commands, _, rest = text.rpartition('"')  # a command line may hold anything
    processes = _PROCESS.findall(f"{commands};")
    if not processes or not count.isdigit():
        return None
    words = [word for word in rest.split(";") if word]
    threads = [word for word in words if word.startswith("thread (")]
    number = _THREAD.match(threads[0]) if threads else None
    tid = int(number[1]) if number else int(processes[-1])
    return Seen(int(processes[-1]), tid, "", tuple(map(_plain, words[len(threads) :])), int(count))


def _plain(frame: str) -> str:
    """Leave out where packages are; for other files keep the last two folders."""
    short = _LIBRARY.sub("(lib/", _PACKAGES.sub("(", frame))
    return short if short != frame else _OWN.sub(r"(\1", frame)


def program() -> str | None:
    """Find the program next to our Python, where its package puts it."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def _reason(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line or "ermission" in line]
    return (errors or lines or ["py-spy ended without a message"])[0].removeprefix("Error: ")
