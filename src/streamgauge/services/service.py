"""What all services have in common: how a package describes one, how it is started."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from streamgauge import process
from streamgauge.errors import NotReady
from streamgauge.process import Process, Seen, wait_until
from streamgauge.services import runtime
from streamgauge.services.runtime import Instance, Note, Record, silent
from streamgauge.spec.addresses import Given
from streamgauge.spec.endpoints import Endpoint, Services

E = TypeVar("E", bound=Endpoint)
E_co = TypeVar("E_co", bound=Endpoint, covariant=True)
ATTEMPTS = 3
READY_WITHIN_S = 60.0
_ANSWERS_WITHIN_S = 2.0
_PORT_TAKEN = ("Address already in use", "could not bind")


@dataclass(frozen=True)
class Options:
    """How a service is to be used."""

    log_dir: Path | None = None
    """Where the log of an embedded one goes; None for a place that vanishes with it."""
    detached: bool = False
    """Whether it outlives us."""
    counts: bool = False
    """Whether it is to say what it counts itself, because a run looks at it alone."""
    choose_port: Callable[[], int] = runtime.free_port
    progress: Note = silent


class NoSettings(BaseModel):
    """The settings of a service that has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Service(Protocol):
    """A kind of service: what a package registers in `streamgauge.services`."""

    name: ClassVar[str]
    title: ClassVar[str]
    role: ClassVar[str]
    """Under which its CPU and memory are counted: `cpu.<role>`; several may share one. Not
    engine, sender or harness, which are those of a trial itself."""
    needs: ClassVar[tuple[str, ...]]
    """Names of services that must be up before it."""
    jars: ClassVar[tuple[str, ...]]
    """Components of jars.lock that an embedded one is made of."""
    endpoint: ClassVar[type[Endpoint]]
    settings: ClassVar[type[BaseModel]]
    """What can be chosen with `-S name.key=value`; every field has a default."""

    def check(self) -> None:
        """Raise NotReady with the remedy when none can be embedded on this machine."""

    def versions(self) -> Mapping[str, str]:
        """Return the versions of what an embedded one is made of."""

    def embedded(self, settings: BaseModel, options: Options) -> Startable:
        """Return one of our own, not started yet: a subclass of `Embedded`."""

    def parse(self, given: Given, environ: Mapping[str, str] = os.environ) -> Endpoint:
        """Read the address of a given one, and its secrets from the environment.

        For URLs `spec.addresses.UrlForm` does both, and refuses a password on the command line.
        """

    def given(self, endpoint: Endpoint, settings: BaseModel, options: Options) -> Startable:
        """Return one that somebody else runs, not looked at yet: a subclass of `GivenService`.

        Raises:
            UsageError: A setting was given that only one of our own could have.
        """


class Startable(Protocol):
    """A service that a run will use."""

    name: str
    role: str
    needs: tuple[str, ...]
    """Names of the services that must be up before it. All three are those of its `Service`."""

    def begin(self, stack: ExitStack, needed: Services) -> Callable[[], RunningService[Endpoint]]:
        """Start it, to be stopped by `stack`; the function returned waits until it is ready.

        Args:
            stack: Ends it.
            needed: Endpoints of the services that it needs.
        """


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
    """Asks whether it does its part, and tells why not; None for one that cannot be asked."""

    def processes(self) -> Sequence[int]:
        """Return the process ids at the roots of the service's process trees."""
        return [member.pid for member in self.members]

    def failure(self) -> str | None:
        """Tell why the service ended, log tail included, or None while it runs."""
        return next((member.failure() for member in self.members if not member.alive), None)

    def lost(self) -> str | None:
        """Tell why the service cannot be used any more; a given one is asked, which takes time."""
        if self.members or self.place is None:
            return self.failure()
        try:
            socket.create_connection(self.place, timeout=_ANSWERS_WITHIN_S).close()
        except OSError as error:
            host, port = self.place
            return f"{host}:{port} does not answer: {error.strerror or error}"
        return None

    def trouble(self) -> str | None:
        """Tell why it does not do its part though it lives; takes a moment."""
        return None if self.ask is None else self.ask()


@contextlib.contextmanager
def all_up(services: Sequence[Startable]) -> Iterator[dict[str, RunningService[Endpoint]]]:
    """Start several services at the same time, but each after those that it needs."""
    with ExitStack() as stack:
        running: dict[str, RunningService[Endpoint]] = {}
        start_all(services, running, lambda _: stack)
        yield running


def start_all(
    services: Sequence[Startable],
    running: dict[str, RunningService[Endpoint]],
    stack_of: Callable[[str], ExitStack],
) -> None:
    """Start services in the order given, which is that of their needs; wait when all have begun.

    Args:
        services: What is to be started.
        running: What is up already; what was started is added.
        stack_of: Says what ends the service of a name.
    """
    waits: dict[str, Callable[[], RunningService[Endpoint]]] = {}
    for service in services:
        for name in service.needs:
            if name in waits:
                running[name] = waits.pop(name)()
        needed = {name: running[name].endpoint for name in service.needs}
        waits[service.name] = service.begin(stack_of(service.name), needed)
    for name, wait in waits.items():
        running[name] = wait()


class Embedded(ABC, Generic[E]):
    """A service that we start and stop, with data of its own that go with it."""

    name: str
    role: str
    needs: tuple[str, ...] = ()
    needs_bytes: ClassVar[int]
    """Room on the disk without which it is not started."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.needed: Services = {}
        """Endpoints of the services that it needs, known once it begins."""

    @abstractmethod
    def prepare(self) -> None:
        """Get what is needed to start; raise NotReady before anything runs."""

    @abstractmethod
    def initialize(self, instance: Instance) -> None:
        """Fill the fresh data folder, once.

        A password is written to `instance.secret_file`, closed to others: `launch` reads it
        there, and `services up` tells other commands of that file.
        """

    @abstractmethod
    def launch(self, instance: Instance, log: Path) -> tuple[Sequence[Process], E]:
        """Start the servers with `start`, on ports chosen anew; further ones get logs beside `log`.

        It is called again, with the same instance, when somebody else has taken a port.
        """

    @abstractmethod
    def is_ready(self, endpoint: E) -> bool:
        """Ask through the protocol whether the service can be used."""

    @abstractmethod
    def address(self, endpoint: E) -> str:
        """Return an address that the service's `parse` reads, without secrets."""

    def asking(self, endpoint: E) -> Callable[[], str | None] | None:  # noqa: ARG002
        """Return what asks whether it does its part, once a second during a trial."""
        return None

    def start(
        self, instance: Instance, argv: Sequence[str | Path], log: Path, **how: Any
    ) -> Process:
        """Start a process that lives as long as the service shall; see `process.start`."""
        lives = instance.folder if self.options.detached else None
        return process.start(argv, log=log, detached=lives, **how)

    def begin(self, stack: ExitStack, needed: Services) -> Callable[[], RunningService[E]]:
        """Start it, to be stopped by `stack`; the function returned waits until it is ready."""
        self.needed = needed
        runtime.check_space(runtime.data_dir(), self.needs_bytes, f"starting {self.name}")
        self.prepare()
        instance = Instance.create(self.name)
        stack.callback(instance.remove)
        self.options.progress(f"starting {self.name}")
        self.initialize(instance)
        members, endpoint = self._launch(instance, stack)

        def wait() -> RunningService[E]:
            running = self._await(instance, stack, members, endpoint)
            self.options.progress(f"{self.name} is ready")
            return running

        return wait

    @contextlib.contextmanager
    def up(self) -> Iterator[RunningService[E]]:
        """Start it, wait until it is ready, and stop it at the end of the block."""
        with ExitStack() as stack:
            yield self.begin(stack, {})()

    def _launch(self, instance: Instance, stack: ExitStack) -> tuple[Sequence[Process], E]:
        folder = self.options.log_dir
        log = instance.log if folder is None else folder / f"{self.name}.log"
        members, endpoint = self.launch(instance, log)
        for member in members:
            stack.callback(member.stop)
        owner = None if self.options.detached else Seen.of(os.getpid())
        instance.write_record(
            Record(
                service=self.name,
                data=str(instance.data),
                owner=owner,
                processes=tuple(seen for each in members if (seen := Seen.of(each.pid))),
                stop_signal=int(members[0].stop_signal),
                address=self.address(endpoint),
            )
        )
        return members, endpoint

    def _await(
        self, instance: Instance, stack: ExitStack, members: Sequence[Process], endpoint: E
    ) -> RunningService[E]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._wait_for(members, endpoint)
                break
            except NotReady:
                tails = "".join(member.log_tail(100) for member in members)
                if attempt == ATTEMPTS or not any(sign in tails for sign in _PORT_TAKEN):
                    raise
            # Somebody took the port between our choice and the server's bind.
            for member in members:
                member.stop()
                member.log.unlink(missing_ok=True)
            members, endpoint = self._launch(instance, stack)
        ask = self.asking(endpoint)
        return RunningService(self.name, self.role, endpoint, tuple(members), ask=ask)

    def _wait_for(self, members: Sequence[Process], endpoint: E) -> None:
        """Wait until it answers, as long as all of its processes live."""

        def ready() -> bool:
            for member in members[1:]:
                if not member.alive:
                    raise NotReady(f"{self.name} did not start: {member.failure()}")
            return self.is_ready(endpoint)

        wait_until(ready, members[0], READY_WITHIN_S, self.name)


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
        """Return host and port by which it can be asked whether it is still there."""

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
        """Return what asks whether it does its part, once a second during a trial."""
        return None

    @contextlib.contextmanager
    def up(self) -> Iterator[RunningService[E]]:
        """Check it, and use it as it is."""
        with ExitStack() as stack:
            yield self.begin(stack, {})()


def measure_offset(
    ask: Callable[[], float], clock: Callable[[], float] = time.time, tries: int = 30
) -> float:
    """Return another clock − ours; the quickest answer bounds the error by half its way.

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
