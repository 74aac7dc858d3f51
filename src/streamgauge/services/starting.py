"""Start several services in the order of their needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from streamgauge.services.running import RunningService
from streamgauge.services.service import Startable
from streamgauge.spec.endpoints import Endpoint


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
    """Start services in the given order, which is that of their needs; wait once all have begun.

    Args:
        services: What is to be started.
        running: What is already up; what was started is added.
        stack_of: Returns what ends the service of that name.
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
