"""Services that somebody else runs: checked before use, never started or stopped."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Generic, TypeVar

from streamgauge.services.running import RunningService
from streamgauge.spec.endpoints import Endpoint, Services

E = TypeVar("E", bound=Endpoint)


class GivenService(ABC, Generic[E]):
    """A service that somebody else runs: checked before use, never started or stopped."""

    name: str
    role: str
    needs: tuple[str, ...] = ()
    endpoint: E

    @abstractmethod
    def check(self) -> None:
        """Refuse a service that cannot be used for measuring."""

    @abstractmethod
    def place(self) -> tuple[str, int]:
        """Return the host and port at which to check that it is still there."""

    @abstractmethod
    def clock_offset(self) -> float:
        """Return the service's clock − ours, in seconds: see `measure_offset`."""

    def begin(self, stack: ExitStack, needed: Services) -> Callable[[], RunningService[E]]:  # noqa: ARG002
        """Check it; there is nothing to wait for or to stop."""
        self.check()
        return lambda: RunningService(
            self.name,
            self.role,
            self.endpoint,
            place=self.place(),
            clock_offset=self.clock_offset,
            ask=self.asking(),
        )

    def asking(self) -> Callable[[], str | None] | None:
        """Return what asks whether it works as it should, once a second during a trial."""
        return None

    @contextlib.contextmanager
    def up(self) -> Iterator[RunningService[E]]:
        """Check it, and use it as it is."""
        with ExitStack() as stack:
            yield self.begin(stack, {})()


def measure_offset(
    ask: Callable[[], float], clock: Callable[[], float] = time.time, tries: int = 30
) -> float:
    """Return another clock − ours; the quickest answer bounds the error by half its time.

    Args:
        ask: Asks the other clock, epoch seconds.
        clock: Ours.
        tries: How often it is asked.
    """
    quickest, offset_s = float("inf"), 0.0
    for _ in range(tries):
        before_s = clock()
        theirs_s = ask()
        after_s = clock()
        if after_s - before_s < quickest:
            quickest, offset_s = after_s - before_s, theirs_s - (before_s + after_s) / 2
    return offset_s
