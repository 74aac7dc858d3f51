"""Services that run: how they are to be used, and what is known of them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from streamgauge.process import Process
from streamgauge.services import runtime
from streamgauge.services.runtime import Note, silent
from streamgauge.spec.endpoints import Endpoint

E_co = TypeVar("E_co", bound=Endpoint, covariant=True)
_ANSWERS_WITHIN_S = 2.0


@dataclass(frozen=True)
class Options:
    """How a service is to be used."""

    log_dir: Path | None = None
    """Where the log of an embedded one goes; None for a place that is removed with it."""
    detached: bool = False
    """Whether it outlives us."""
    counts: bool = False
    """Whether it reports its own counters, because a run measures only this service."""
    choose_port: Callable[[], int] = runtime.free_port
    progress: Note = silent


class NoSettings(BaseModel):
    """The settings of a service that has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class RunningService(Generic[E_co]):
    """A service that can be used now."""

    name: str
    role: str
    endpoint: E_co
    members: tuple[Process, ...] = ()
    """Its processes; none for a given service, which is not ours to watch."""
    place: tuple[str, int] | None = None
    """Host and port of a given service."""
    clock_offset: Callable[[], float] | None = None
    """Measures a given service's clock − ours, in seconds; None where it is the same clock."""
    ask: Callable[[], str | None] | None = None
    """Checks that it works as it should, and says why not; None for one that cannot be asked."""
    collect: Callable[[Path], None] | None = None
    """Copies the logs of what it ran for an engine to a folder; None where there are none."""

    def processes(self) -> Sequence[int]:
        """Return the process ids at the roots of the service's process trees."""
        return [member.pid for member in self.members]

    def failure(self) -> str | None:
        """Return why the service ended, log tail included, or None while it runs."""
        return next((member.failure() for member in self.members if not member.alive), None)

    def lost(self) -> str | None:
        """Return why the service cannot be used any more; asking a given one takes time."""
        if self.members or self.place is None:
            return self.failure()
        try:
            socket.create_connection(self.place, timeout=_ANSWERS_WITHIN_S).close()
        except OSError as error:
            host, port = self.place
            return f"{host}:{port} does not answer: {error.strerror or error}"
        return None

    def trouble(self) -> str | None:
        """Return why it does not work although it runs; takes a moment."""
        return None if self.ask is None else self.ask()
