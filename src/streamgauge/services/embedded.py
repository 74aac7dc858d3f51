"""Services that we start and stop ourselves."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from streamgauge import process
from streamgauge.errors import NotReady
from streamgauge.process import Process, Seen, wait_until
from streamgauge.services import runtime
from streamgauge.services.running import Options, RunningService
from streamgauge.services.runtime import Instance, InstanceRecord
from streamgauge.spec.endpoints import Endpoint, Services

E = TypeVar("E", bound=Endpoint)
ATTEMPTS = 3
READY_WITHIN_S = 60.0
_PORT_TAKEN = ("Address already in use", "could not bind")


class Embedded(ABC, Generic[E]):
    """A service that we start and stop, with data of its own that are removed with it."""

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
        there, and `services up` gives that file to other commands.
        """

    @abstractmethod
    def launch(self, instance: Instance, log: Path) -> tuple[Sequence[Process], E]:
        """Start the servers with `start`, on new ports; further ones get logs next to `log`.

        It is called again, with the same instance, when somebody else has taken a port.
        """

    @abstractmethod
    def is_ready(self, endpoint: E) -> bool:
        """Ask through the protocol whether the service can be used."""

    @abstractmethod
    def address(self, endpoint: E) -> str:
        """Return an address that the service's `parse` reads, without secrets."""

    def asking(self, endpoint: E) -> Callable[[], str | None] | None:  # noqa: ARG002
        """Return what asks whether it works as it should, once a second during a trial."""
        return None

    def collecting(self, instance: Instance, folder: Path) -> None:
        """Copy the logs of what it ran for an engine to a folder."""

    def start(
        self, instance: Instance, argv: Sequence[str | Path], log: Path, **how: Any
    ) -> Process:
        """Start a process that lives as long as the service; see `process.start`."""
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
            InstanceRecord(
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
        collect = partial(self.collecting, instance)
        return RunningService(
            self.name, self.role, endpoint, tuple(members), ask=ask, collect=collect
        )

    def _wait_for(self, members: Sequence[Process], endpoint: E) -> None:
        """Wait until it answers, as long as all of its processes live."""

        def ready() -> bool:
            for member in members[1:]:
                if not member.alive:
                    raise NotReady(f"{self.name} did not start: {member.failure()}")
            return self.is_ready(endpoint)

        wait_until(ready, members[0], READY_WITHIN_S, self.name)
