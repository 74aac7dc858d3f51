"""Watches a running trial: what has died, whether the clock was stepped, what it waits for."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge import machine
from streamgauge.errors import TrialFailed, TrialInvalid
from streamgauge.measure.verdicts import CLOCK_BOUND_S
from streamgauge.process import end_if_asked
from streamgauge.spec.engine import Job
from streamgauge.units import format_duration, format_size

if TYPE_CHECKING:
    from streamgauge.load.senders import Senders
    from streamgauge.services.running import RunningService
    from streamgauge.spec.endpoints import Endpoint

POLL_S = 0.1
LAST_WORDS_S = 5.0
"""An engine that breaks off a transfer may be dying: it has this long to report the reason."""


@dataclass(frozen=True)
class Clock:
    """Time as the trial sees it."""

    realtime: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def offset(self) -> float:
        """Return realtime − monotonic, which only a stepped clock changes."""
        # Realtime is read between two looks at the other clock: a pause in between would
        # look like a step, so the closest of a few tries counts.
        best = (float("inf"), 0.0)
        for _ in range(5):
            before = self.monotonic()
            now = self.realtime()
            after = self.monotonic()
            best = min(best, (after - before, now - (before + after) / 2))
        return best[1]


class LimitPassed(Exception):
    """What was waited for did not come in time."""


class Troubles:
    """Asks services whether they work, in the sampler's thread, and remembers the first trouble."""

    def __init__(self, services: Mapping[str, RunningService[Endpoint]]) -> None:
        self._services = services
        self.first: str | None = None

    def sample(self, at_s: float) -> Mapping[str, float]:  # noqa: ARG002 - a probe
        """Ask each service."""
        for name, service in self._services.items():
            if self.first is None and (trouble := service.trouble()):
                self.first = in_trouble(name, trouble)
        return {}


def in_trouble(name: str, trouble: str) -> str:
    """Describe the trouble of a service."""
    return f"{name} does not work: {trouble}"


def at_fault(services: Mapping[str, RunningService[Endpoint]]) -> str | None:
    """Name a service that is to blame, if there is one; may take a moment."""
    for name, service in services.items():
        if failure := service.lost():
            return f"{name} died: {failure}"
        if trouble := service.trouble():
            return in_trouble(name, trouble)
    return None


class Watch:
    """Knows everything that must stay alive; every wait of a trial goes through it."""

    def __init__(
        self,
        services: Mapping[str, RunningService[Endpoint]],
        folders: Sequence[Path],
        clock: Clock | None = None,
    ) -> None:
        self.services = services
        self.troubles = Troubles(services)
        self.sender: Senders | None = None
        self.job: Job | None = None
        self.clock = clock or Clock()
        self._folders = tuple(folders)
        self._offset_s = self.clock.offset()
        self.clock_moved_s = 0.0

    def check(self) -> None:
        """Raise when something has died or the clock was stepped; services before the engine.

        Whatever kills the broker kills its clients soon after: the service is the cause then.
        """
        end_if_asked()
        for name, service in self.services.items():
            if failure := service.failure():
                raise TrialInvalid(f"{name} died: {failure}")
        if self.troubles.first is not None:
            raise TrialInvalid(self.troubles.first)
        if self.sender is not None and (failure := self.sender.failure()):
            self._blame_services()
            raise TrialInvalid(f"the sender died: {failure}")
        self._check_engine()
        if self.sender is not None and (reason := self.sender.overrun()):
            end_s = self.clock.monotonic() + LAST_WORDS_S
            while self.clock.monotonic() < end_s:
                self._check_engine()
                self.clock.sleep(POLL_S)
            raise TrialFailed(f"unsustainable: {reason}")
        self._check_clock()
        self._check_room()

    def wait_for(self, condition: Callable[[], bool], limit_s: float, what: str) -> None:
        """Wait until the condition holds; LimitPassed says what did not come."""
        end_s = self.clock.monotonic() + limit_s
        while not condition():
            self.check()
            if self.clock.monotonic() > end_s:
                raise LimitPassed(f"{what} (waited {format_duration(limit_s)})")
            self.clock.sleep(POLL_S)

    def _check_engine(self) -> None:
        if self.job is not None and (failure := self.job.failure()):
            self._blame_services()
            raise TrialFailed(f"the engine died: {failure}")

    def _blame_services(self) -> None:
        """Give a dying service a moment to be seen as the cause."""
        self.clock.sleep(0.5)
        if cause := at_fault(self.services):
            raise TrialInvalid(cause)

    def _check_clock(self) -> None:
        self.clock_moved_s = max(self.clock_moved_s, abs(self.clock.offset() - self._offset_s))
        if self.clock_moved_s > CLOCK_BOUND_S:
            raise TrialInvalid(
                f"the clock was stepped by {format_duration(self.clock_moved_s)} during the trial",
                "keep the clock synchronized by slewing, or wait until it has settled",
            )

    def _check_room(self) -> None:
        for folder in self._folders:
            free = shutil.disk_usage(folder).free
            if free < machine.SPARE_DISK:
                raise TrialInvalid(
                    f"only {format_size(free)} are left on the disk of {folder}",
                    "make room, or choose another disk with --runs-dir and STREAMGAUGE_DATA_DIR",
                )
        if (free := machine.available_memory()) < machine.SPARE_MEMORY:
            raise TrialInvalid(
                f"only {format_size(free)} of memory are left", "stop other programs"
            )
