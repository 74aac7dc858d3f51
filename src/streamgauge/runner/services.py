"""The services of a run, kept across its trials."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from streamgauge.services.embedded import Embedded
from streamgauge.services.running import RunningService
from streamgauge.services.service import Sized, Startable
from streamgauge.services.starting import start_all
from streamgauge.spec.endpoints import Endpoint
from streamgauge.spec.trial import ResourceSpec


class ServiceSet:
    """The services of a run, kept across trials and started again when one has died.

    The logs of those that we start stay in the run's folder.
    """

    def __init__(self, services: Sequence[Startable], logs: Path) -> None:
        self._services = list(services)
        for service in self._services:
            if isinstance(service, Embedded):
                service.options = replace(service.options, log_dir=logs)
        self._running: dict[str, RunningService[Endpoint]] = {}
        self._stacks: dict[str, ExitStack] = {}

    def fit(self, resources: ResourceSpec) -> None:
        """Give services the size that a trial needs; those of another size are stopped."""
        for service in self._services:
            if isinstance(service, Sized) and service.fit(resources):
                self._end(service.name)
                self._running.pop(service.name, None)

    def all_up(self) -> dict[str, RunningService[Endpoint]]:
        """Return the services by name, every one alive."""
        down = self._down()
        for service in reversed(down):  # remains of the last attempt, each before what it needs
            self._end(service.name)
        start_all(down, self._running, self._fresh_stack)
        return dict(self._running)

    def _down(self) -> list[Startable]:
        """Return what has to be started: what is not up, and what depends on it."""
        down: dict[str, Startable] = {}
        for service in self._services:
            running = self._running.get(service.name)
            useless = running is None or running.lost() or running.trouble()
            if useless or any(name in down for name in service.needs):
                down[service.name] = service
        return list(down.values())

    def _end(self, name: str) -> None:
        if name in self._stacks:
            self._stacks.pop(name).close()

    def _fresh_stack(self, name: str) -> ExitStack:
        """Return what will end a service."""
        self._stacks[name] = ExitStack()
        return self._stacks[name]

    def __enter__(self) -> ServiceSet:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as all_of_them:
            for stack in self._stacks.values():
                all_of_them.push(stack)
