"""The back end perf: the kernel's sampler, for native programs and Java with frame pointers."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import ClassVar

from streamgauge import process
from streamgauge.profilers.attach import attach
from streamgauge.profilers.census import Target
from streamgauge.profilers.sampler import HZ, Refused, Sampling, Seen

_POINTERS = "-XX:+PreserveFramePointer"
_HEAD = re.compile(r"(\S.*?)\s+(\d+)/(\d+)\s*$")
_FRAME = re.compile(r"\s+[0-9a-f]+ (.*)$")
_LOST = re.compile(r"PERF_RECORD_LOST(?:_SAMPLES)?.*?lost (\d+)")
_FAILS_S = 0.3


class Perf:
    """Sees the kernel as well, but neither inlined nor interpreted frames of Java."""

    name: ClassVar[str] = "perf"
    hz: ClassVar[float] = HZ

    def start(self, target: Target, folder: Path) -> Sampling:
        """Start perf on one process."""
        if target.kind == "java" and _POINTERS not in target.words:
            raise Refused(f"its Java was started without {_POINTERS}: stacks would be cut")
        if not shutil.which("perf"):
            raise Refused("perf is not installed")
        data, log = folder / f"{target.pid}.perf", folder / f"{target.pid}.perf.log"
        command = ["perf", "record", "-F", f"{HZ:g}", "-e", "cpu-clock", "-g"]
        started = process.start(
            [*command, "-p", str(target.pid), "-o", str(data)],
            log=log,
            stop_signal=signal.SIGINT,
            detached=folder,  # any thread may start it: it ends with the process that it samples
        )
        if started.wait(_FAILS_S) and started.exit_code:
            raise Refused(_first_line(started.log_tail()))
        return _Sampling(started, target, data)


class _Sampling:
    def __init__(self, started: process.Process, target: Target, data: Path) -> None:
        self.pid: int | None = started.pid
        self._process, self._target, self._data = started, target, data

    def stop(self) -> None:
        if self._target.kind == "java":
            with suppress(Refused):  # it has ended
                attach(self._target.pid, "jcmd", "Compiler.perfmap")
        self._process.stop()

    def read(self) -> Iterator[Seen]:
        if not self._data.exists() or self._data.stat().st_size == 0:
            raise Refused(_first_line(self._process.log_tail()))
        command = ["perf", "script", "-i", str(self._data), "-F", "comm,pid,tid,ip,sym"]
        command.append("--show-lost-events")
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as printed:
            assert printed.stdout is not None
            yield from read_lines(self._target.pid, printed.stdout)


def read_lines(pid: int, lines: Iterable[str]) -> Iterator[Seen]:
    """Read what `perf script` writes: a line of the thread, then its stack from the leaf."""
    thread, frames = None, list[str]()
    for line in chain(lines, [""]):
        if lost := _LOST.search(line):
            yield Seen(pid, None, "", (), int(lost[1]))
        elif not line.strip():
            if thread is not None:
                yield Seen(*thread, tuple(reversed(frames)), 1)
            thread, frames = None, []
        elif frame := _FRAME.match(line):
            frames.append(_plain(frame[1]))
        elif head := _HEAD.match(line):
            thread = int(head[2]), int(head[3]), head[1]


def _plain(symbol: str) -> str:
    """Leave out argument and return types, which would also match: `long Burn.window(long)`."""
    if symbol.startswith("["):
        return symbol
    name = symbol.partition("(")[0]
    return name.rpartition(" ")[2] if "." in name and "::" not in name else name


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "perf ended without a message"
