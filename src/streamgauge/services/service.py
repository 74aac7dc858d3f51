"""What all services have in common: they are up inside a `with` block."""

from __future__ import annotations

import contextlib
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from streamgauge.errors import NotReady
from streamgauge.process import Process, Seen, wait_until
from streamgauge.services import runtime
from streamgauge.services.runtime import Instance, Record

E = TypeVar("E")
Progress = Callable[[str], None]
ATTEMPTS = 3
READY_WITHIN_S = 60.0
_ANSWERS_WITHIN_S = 2.0
_PORT_TAKEN = ("Address already in use", "could not bind")


def silent(_: str) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class RunningService(Generic[E]):
    """A service that can be used now."""

    name: str
    endpoint: E
    process: Process | None = None
    """None for a given service, which is not ours to watch."""
    place: tuple[str, int] | None = None
    """Host and port of a given service."""
    clock_offset: Callable[[], float] | None = None
    """Measures a given service's clock − ours, in seconds; None where it is the same clock."""

    def processes(self) -> Sequence[int]:
        """Return the process ids at the root of the service's process tree."""
        return [] if self.process is None else [self.process.pid]

    def failure(self) -> str | None:
        """Tell why the service ended, log tail included, or None while it runs."""
        if self.process is None or self.process.alive:
            return None
        return self.process.failure()

    def lost(self) -> str | None:
        """Tell why the service cannot be used any more; a given one is asked, which takes time."""
        if self.process is not None or self.place is None:
            return self.failure()
        try:
            socket.create_connection(self.place, timeout=_ANSWERS_WITHIN_S).close()
        except OSError as error:
            host, port = self.place
            return f"{host}:{port} does not answer: {error.strerror or error}"
        return None


class Service(Protocol[E]):
    """Something that must be running."""

    @property
    def name(self) -> str:
        """Return the name by which users know it."""

    def begin(self, stack: ExitStack) -> Callable[[], RunningService[E]]:
        """Start it, to be stopped by `stack`; the function returned waits until it is ready."""

    def up(self) -> AbstractContextManager[RunningService[E]]:
        """Start it, wait until it is ready, and stop it at the end of the block."""


@contextlib.contextmanager
def all_up(services: Sequence[Service[Any]]) -> Iterator[dict[str, RunningService[Any]]]:
    """Start several services, then wait for each, so that they get ready at the same time."""
    with ExitStack() as stack:
        waits = {service.name: service.begin(stack) for service in services}
        yield {name: wait() for name, wait in waits.items()}


@dataclass(frozen=True)
class Options:
    """How an embedded service is to be started."""

    log_dir: Path | None = None
    """Where its log goes; None for a place that vanishes with it."""
    detached: bool = False
    """Whether it outlives us."""
    choose_port: Callable[[], int] = runtime.free_port
    progress: Progress = silent


class Embedded(ABC, Generic[E]):
    """A service that we start and stop, with data of its own that go with it."""

    name: ClassVar[str]
    needs_bytes: ClassVar[int]
    """Room on the disk without which it is not started."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()

    @abstractmethod
    def prepare(self) -> None:
        """Get what is needed to start; raise NotReady before anything runs."""

    @abstractmethod
    def initialize(self, instance: Instance) -> None:
        """Fill the fresh data folder."""

    @abstractmethod
    def launch(self, instance: Instance, log: Path) -> tuple[Process, E]:
        """Start the server on ports chosen anew."""

    @abstractmethod
    def is_ready(self, endpoint: E) -> bool:
        """Ask through the protocol whether the service can be used."""

    @abstractmethod
    def address(self, endpoint: E) -> str:
        """Return the address by which other commands are told of it, without secrets."""

    def begin(self, stack: ExitStack) -> Callable[[], RunningService[E]]:
        """Start it, to be stopped by `stack`; the function returned waits until it is ready."""
        runtime.check_space(runtime.data_dir(), self.needs_bytes, f"starting {self.name}")
        self.prepare()
        instance = Instance.create(self.name)
        stack.callback(instance.remove)
        self.options.progress(f"starting {self.name}")
        self.initialize(instance)
        process, endpoint = self._launch(instance, stack)

        def wait() -> RunningService[E]:
            running = self._await(instance, stack, process, endpoint)
            self.options.progress(f"{self.name} is ready")
            return running

        return wait

    @contextlib.contextmanager
    def up(self) -> Iterator[RunningService[E]]:
        """Start it, wait until it is ready, and stop it at the end of the block."""
        with ExitStack() as stack:
            yield self.begin(stack)()

    def _launch(self, instance: Instance, stack: ExitStack) -> tuple[Process, E]:
        folder = self.options.log_dir
        log = instance.log if folder is None else folder / f"{self.name}.log"
        process, endpoint = self.launch(instance, log)
        stack.callback(process.stop)
        owner = None if self.options.detached else Seen.of(os.getpid())
        instance.write_record(
            Record(
                service=self.name,
                data=str(instance.data),
                owner=owner,
                process=Seen.of(process.pid),
                stop_signal=int(process.stop_signal),
                address=self.address(endpoint),
            )
        )
        return process, endpoint

    def _await(
        self, instance: Instance, stack: ExitStack, process: Process, endpoint: E
    ) -> RunningService[E]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                wait_until(lambda: self.is_ready(endpoint), process, READY_WITHIN_S, self.name)  # noqa: B023 - called at once
                break
            except NotReady:
                tail = process.log_tail(100)
                if attempt == ATTEMPTS or not any(sign in tail for sign in _PORT_TAKEN):
                    raise
            # Somebody took the port between our choice and the server's bind.
            process.stop()
            process.log.unlink(missing_ok=True)
            process, endpoint = self._launch(instance, stack)
        return RunningService(self.name, endpoint, process)
