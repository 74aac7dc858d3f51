"""The back end async-profiler: a library that a running Java process loads, from a locked jar."""

from __future__ import annotations

import platform
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from streamgauge.errors import StreamgaugeError
from streamgauge.files import write_atomically
from streamgauge.profilers.attach import attach
from streamgauge.profilers.census import Target
from streamgauge.profilers.sampler import HZ, Refused, Sampling, Seen
from streamgauge.services import jars, runtime

COMPONENT = "async-profiler"
_FOLDERS = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}
_THREAD = re.compile(r"\[(?P<name>.*) tid=(?P<tid>\d+)\]")
_LAMBDA = re.compile(r"(\$\$Lambda)[$/]?\d*")
_HIDDEN = re.compile(r"[/.+]0x[0-9a-f]+")
_NO_STACK = ("[unknown", "[not_walkable", "[no_Java", "[skipped", "[break_", "[GC_active", "[error")


class AsyncProfiler:
    """Names inlined frames, garbage collection and compilation; needs no special rights."""

    name: ClassVar[str] = "async-profiler"
    hz: ClassVar[float] = HZ

    def start(self, target: Target, folder: Path) -> Sampling:
        """Let the process load the library and begin."""
        library = self._library()
        file = (folder / f"{target.pid}.collapsed").absolute()
        log = (folder / f"{target.pid}.log").absolute()
        options = f"event=cpu,interval={round(1e9 / HZ)},threads,dot,log={log}"
        refused = ""
        try:
            attach(target.pid, "load", str(library), "true", f"start,{options}")
        except Refused as error:
            refused = str(error)
        if reason := _told(log) or refused:
            raise Refused(reason)
        return _Sampling(target.pid, library, file)

    def _library(self) -> Path:
        """Unpack the library of the locked jar, once."""
        if platform.machine() not in _FOLDERS:
            raise Refused(f"it is not available for {platform.machine()}")
        try:
            (jar,) = jars.ensure(COMPONENT)
        except StreamgaugeError as error:
            raise Refused(error.message) from None
        library = runtime.cache_dir() / "jars" / f"{jar.stem}.so"
        if not library.exists() or library.stat().st_mtime < jar.stat().st_mtime:
            inside = f"{_FOLDERS[platform.machine()]}/libasyncProfiler.so"
            with zipfile.ZipFile(jar) as packed:
                write_atomically(library, packed.read(inside), 0o755)
        return library


class _Sampling:
    pid: int | None = None

    def __init__(self, target: int, library: Path, file: Path) -> None:
        self._target, self._library, self._file = target, library, file

    def stop(self) -> None:
        options = f"stop,collapsed,threads,dot,file={self._file}"
        with suppress(Refused):  # it has ended, and its samples are lost
            attach(self._target, "load", str(self._library), "true", options)

    def read(self) -> Iterator[Seen]:
        try:
            with self._file.open(encoding="utf-8", errors="replace") as lines:
                yield from (seen for line in lines if (seen := read_line(self._target, line)))
        except FileNotFoundError:
            raise Refused("the Java process ended while it was sampled") from None


def read_line(pid: int, line: str) -> Seen | None:
    """Read a line of its output: `[thread tid=7];root;…;leaf count`."""
    text, _, count = line.rstrip("\n").rpartition(" ")
    first, _, rest = text.partition(";")
    thread = _THREAD.fullmatch(first)
    if thread is None or not count.isdigit():
        return None
    frames = tuple(_plain(frame) for frame in rest.split(";") if frame)
    if not frames or frames[-1].startswith(_NO_STACK):
        frames = ()
    return Seen(pid, int(thread["tid"]), thread["name"], frames, int(count))


def _plain(frame: str) -> str:
    """Write a frame the same for every run: generated classes get other numbers in each."""
    frame = frame.removesuffix("_[k]")
    if "$$Lambda" not in frame and "0x" not in frame:
        return frame
    return _LAMBDA.sub(r"\1", _HIDDEN.sub("", frame))


def _told(log: Path) -> str:
    try:
        lines = log.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in lines if "ERROR" in line or "annot" in line), "")
