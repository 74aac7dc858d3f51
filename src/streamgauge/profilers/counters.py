"""The processor's own counters, where the kernel offers them: virtual machines often have none."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from streamgauge import process
from streamgauge.errors import NotReady

EVENTS = (
    "cycles",
    "instructions",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "cache-misses",
    "branch-misses",
)


class Counters:
    """Counts from `start` to `stop`, for some processes together."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "counters.csv"
        self._process: process.Process | None = None

    def start(self, pids: Sequence[int]) -> None:
        """Begin to count, if perf is installed; if it may not count, nothing is found later."""
        if not pids or not shutil.which("perf"):
            return
        command = ["perf", "stat", "-x", ",", "-e", ",".join(EVENTS), "-o", str(self._file)]
        try:
            self._process = process.start(
                [*command, "-p", ",".join(map(str, pids))],
                log=self._file.with_suffix(".log"),
                stop_signal=signal.SIGINT,
                detached=self._file.parent,
            )
        except NotReady:
            return

    def stop(self) -> None:
        """End counting."""
        if self._process is not None:
            self._process.stop()

    def read(self) -> dict[str, float]:
        """Return what was counted; empty where there are no counters."""
        if self._process is None or not self._file.exists():
            return {}
        return read_counters(self._file.read_text("utf-8", "replace"))


def read_counters(text: str) -> dict[str, float]:
    """Read what `perf stat -x,` writes: `12345,,cycles,…`, or `<not supported>,,cycles,…`."""
    found = {}
    for line in text.splitlines():
        value, _, rest = line.partition(",")
        name = rest.split(",")[1].partition(":")[0] if rest.count(",") else ""
        if name in EVENTS and value.replace(".", "", 1).isdigit():
            found[name] = float(value)
    return found
