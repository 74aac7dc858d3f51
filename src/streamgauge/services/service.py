"""What a service promises: how a package describes one, and how a run starts it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel

from streamgauge.services.addresses import Given
from streamgauge.services.running import Options, RunningService
from streamgauge.spec.endpoints import Endpoint, Services
from streamgauge.spec.trial import ResourceSpec


class Service(Protocol):
    """A kind of service: what a package registers in `streamgauge.services`."""

    name: ClassVar[str]
    title: ClassVar[str]
    role: ClassVar[str]
    """Its CPU and memory are counted under it: `cpu.<role>`; several may share one. Not engine,
    sender or harness, which are those of a trial itself."""
    needs: ClassVar[tuple[str, ...]]
    """Names of services that must be up before it."""
    jars: ClassVar[tuple[str, ...]]
    """Components of jars.lock that an embedded one is made of."""
    endpoint: ClassVar[type[Endpoint]]
    settings: ClassVar[type[BaseModel]]
    """What can be chosen with `-S name.key=value`; every field has a default."""

    def check(self) -> None:
        """Raise NotReady with the remedy when this machine cannot run an embedded one."""

    def versions(self) -> Mapping[str, str]:
        """Return the versions of what an embedded one is made of."""

    def embedded(self, settings: BaseModel, options: Options) -> Startable:
        """Return an embedded one, not started yet: a subclass of `Embedded`."""

    def parse(self, given: Given, environ: Mapping[str, str] = os.environ) -> Endpoint:
        """Read the address of a given one, and its secrets from the environment.

        For URLs `services.addresses.UrlForm` does both, and refuses a password on the command line.
        """

    def given(self, endpoint: Endpoint, settings: BaseModel, options: Options) -> Startable:
        """Return one that somebody else runs, not checked yet: a subclass of `GivenService`.

        Raises:
            UsageError: A setting was given that only an embedded one can have.
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


@runtime_checkable
class Sized(Protocol):
    """Ability of a service that a run will use: it is as large as a trial asks for."""

    def fit(self, resources: ResourceSpec) -> bool:
        """Be as large as a trial needs; return whether the size has changed."""
