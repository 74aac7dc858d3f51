"""Follow a run's live.jsonl: which run, which lines are new, what a viewer has not seen yet."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from streamgauge.errors import UsageError
from streamgauge.live.state import Ended, Event, Sample, State, fold
from streamgauge.results.folder import RunFolder, RunRecord

KEPT = 1800
"""Samples of the trial under way that are kept: half an hour."""
PERIOD_S = 0.4
_CHUNK = 8 << 20
_BEGINS, _ENDED = b'"planned": ', b'"status": '

Line = tuple[int, bytes]
"""Where it ends in the file, and its text."""


@dataclass(frozen=True)
class News:
    """What happened after a place in the file; everything, for a new viewer."""

    whole: bool
    samples: list[Sample]
    ended: list[Ended]


class Follower:
    """The state of one run, brought up to date whenever it is asked for."""

    def __init__(self, folder: RunFolder, now_s: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.record: RunRecord = folder.record()
        self._now_s = now_s
        self._running_s = now_s() if self.running else -math.inf
        """When the run was last seen under way."""
        self._begin()

    def _begin(self) -> None:
        self.state = State()
        self.offset = 0
        """Bytes of the file that were read: whole lines."""
        self._samples: deque[tuple[int, Sample]] = deque(maxlen=KEPT)
        self._ended: list[tuple[int, Ended]] = []
        self._trial_from = 0
        """Where the trial under way begins in the file."""

    @property
    def running(self) -> bool:
        """Whether the run was under way at the last refresh."""
        return self.record.status == "running"

    def over_for_s(self) -> float:
        """Return the time since the run was last seen under way."""
        return self._now_s() - self._running_s

    @property
    def report(self) -> Path | None:
        """The finished report, once it exists."""
        file = self.folder.path / "report.html"
        try:
            written, concluded = file.stat(), (self.folder.path / "run.json").stat()
        except OSError:
            return None
        # A run that was resumed has the report of its first part until it has written its own.
        stale = self._running_s > -math.inf and written.st_mtime_ns < concluded.st_mtime_ns
        return None if stale else file

    @property
    def position(self) -> str:
        """Name the place in the file up to which the state was read."""
        return f"{quote(self.folder.name)}:{self.offset}"

    def refresh(self) -> None:
        """Read what was written since the last refresh."""
        # The status first: once it is final no line is added, so none can be missed.
        try:
            self.record = self.folder.record()
        except UsageError:  # gone or unreadable: what was seen stays
            return
        if self.running:
            self._running_s = self._now_s()
        for lines in self._new_lines():
            for end, line in _still_of_use(lines):
                self.offset = end
                event = _event(line)
                if event is not None:
                    self._take(event)

    def since(self, position: str | None) -> News:
        """Return what a viewer at a position has not seen."""
        run, _, offset = (position or "").rpartition(":")
        known = run == quote(self.folder.name) and offset.isascii() and offset.isdigit()
        seen = int(offset) if known and len(offset) < 20 else -1
        if not self._oldest() <= seen <= self.offset:
            return News(True, [s for _, s in self._samples], [e for _, e in self._ended])
        return News(
            False,
            [sample for end, sample in self._samples if end > seen],
            [ended for end, ended in self._ended if end > seen],
        )

    def _oldest(self) -> int:
        """Return the place before which some samples are no longer kept."""
        dropped = len(self._samples) == KEPT
        return self._samples[0][0] if dropped else self._trial_from

    def _take(self, event: Event) -> None:
        before, self.state = self.state, fold(self.state, event)
        if self.state.begun != before.begun:
            self._samples.clear()
            self._trial_from = self.offset
        if self.state.sample is not None and self.state.sample is not before.sample:
            self._samples.append((self.offset, self.state.sample))
        self._ended += [(self.offset, each) for each in self.state.ended[len(before.ended) :]]

    def _new_lines(self) -> Iterator[list[Line]]:
        """Yield whole lines, many at a time; an unfinished line waits."""
        try:
            with self.folder.live.open("rb") as file:
                if file.seek(0, 2) < self.offset:  # rewritten
                    self._begin()
                file.seek(self.offset)
                end = self.offset
                while lines := file.readlines(_CHUNK):
                    whole = [line for line in lines if line.endswith(b"\n")]
                    yield [(end := end + len(line), line) for line in whole]
        except OSError:  # not there yet
            return


class Chosen:
    """Which run is followed: the one that was named, the one under way, or the next."""

    def __init__(
        self,
        runs: Path,
        folder: RunFolder | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.runs = runs
        self._fixed = folder is not None
        self._follower = Follower(folder, now_s) if folder is not None else None
        self._now_s = now_s
        self._looked_s = -PERIOD_S

    def follower(self) -> Follower | None:
        """Return the up-to-date follower of the run to show; None before there is one.

        The files are read once per period, no matter how many ask.
        """
        if self._now_s() - self._looked_s >= PERIOD_S:
            self._looked_s = self._now_s()
            self._look()
        return self._follower

    def _look(self) -> None:
        if not self._fixed and (self._follower is None or not self._follower.running):
            self._look_for_a_newer_run()
        if self._follower is not None:
            self._follower.refresh()

    def _look_for_a_newer_run(self) -> None:
        latest = max(self.runs.glob("*/live.jsonl"), key=_written, default=None)
        if latest is None or (self._follower and self._follower.folder.path == latest.parent):
            return
        try:
            follower = Follower(RunFolder(latest.parent), self._now_s)
        except UsageError:
            return
        if follower.running:
            self._follower = follower


def _still_of_use(lines: Sequence[Line]) -> list[Line]:
    """Leave out phases and samples of trials before the last, which no page shows any more."""
    begins = [n for n, (_, line) in enumerate(lines) if _BEGINS in line]
    last = begins[-1] if begins else 0
    kept = [each for each in lines[:last] if _BEGINS in each[1] or _ENDED in each[1]]
    return [*kept, *lines[last:]]


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
