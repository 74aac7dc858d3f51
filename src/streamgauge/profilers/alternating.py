"""The profiler `overhead`: on and off in turn, to measure what profiling costs here."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from streamgauge.files import write_atomically
from streamgauge.probes.processes import read_processes
from streamgauge.profilers.census import trees
from streamgauge.profilers.looking import Looking
from streamgauge.profilers.profiler import Auto
from streamgauge.profiling.overhead import SEGMENT_S, SETTLE_S, Segment

SEGMENTS = "segments.json"


class Overhead(Auto):
    """Segments of 20 s, half of them profiled by the best back end."""

    segment_s = SEGMENT_S

    @contextmanager
    def record(self, processes: Callable[[], Sequence[int]], folder: Path) -> Iterator[None]:
        """Profile the segments whose turn it is."""
        turns = _Turns(self, processes, folder, self.segment_s)
        turns.start()
        try:
            yield
        finally:
            turns.stop()
            self._looking = turns.last
            text = json.dumps([each.model_dump() for each in turns.segments])
            write_atomically(folder / SEGMENTS, text)


def is_on(turn: int) -> bool:
    """Return whether a segment is profiled: off, on, on, off, so that neither is first more often.

    Drift over a trial, such as compilation, would favour the one that always comes later.
    """
    return turn % 4 in (1, 2)


class _Turns:
    """A thread that turns the profiler on and off."""

    def __init__(
        self, of: Auto, processes: Callable[[], Sequence[int]], folder: Path, segment_s: float
    ) -> None:
        self.segments: list[Segment] = []
        self.last: Looking | None = None
        """The last segment that was profiled: its stacks are kept."""
        self._of, self._processes, self._folder = of, processes, folder
        self._segment_s = segment_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="turns", daemon=True)

    def start(self) -> None:
        """Begin with the first segment."""
        self._thread.start()

    def stop(self) -> None:
        """End the current segment; it is too short to count."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        for turn in count():
            if self._over.is_set():
                return
            on = is_on(turn)
            looking = Looking(self._of.backends, self._processes, self._folder) if on else None
            if looking is not None:
                looking.begin()
            whole = self._segment(on=on)
            if looking is not None:
                looking.end()
                self._keep(looking, whole=whole)

    def _keep(self, looking: Looking | None, *, whole: bool) -> None:
        """Keep what the last whole segment has recorded; a part is better than nothing."""
        if whole or self.last is None:
            self.last, looking = looking, self.last
        if looking is not None:
            looking.discard()

    def _segment(self, *, on: bool) -> bool:
        """Wait for the end of a segment; return whether it was whole."""
        if self._over.wait(min(SETTLE_S, self._segment_s / 4)):
            return False
        start_ms, before_s = time.time() * 1000, self._cpu_s()
        if self._over.wait(self._segment_s):
            return False
        cpu_s = self._cpu_s() - before_s
        end_ms = time.time() * 1000
        self.segments.append(
            Segment(start_ms=int(start_ms), end_ms=int(end_ms), on=on, cpu_s=max(0.0, cpu_s))
        )
        return True

    def _cpu_s(self) -> float:
        processes = read_processes()
        return sum(processes[pid].cpu_s for pid in trees(processes, self._processes()))
