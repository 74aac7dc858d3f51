"""Services without processes, which write down what happens to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel

from streamgauge.services.addresses import Given
from streamgauge.services.running import NoSettings, Options, RunningService
from streamgauge.spec.endpoints import Endpoint, Services


@dataclass(frozen=True)
class ToyEndpoint(Endpoint):
    service: ClassVar[str] = "toy"

    place: str

    @property
    def address(self) -> str:
        return self.place


@dataclass(frozen=True)
class ToyRunning(RunningService[ToyEndpoint]):
    dead: set[str] = field(default_factory=set)

    def lost(self) -> str | None:
        return "it is dead" if self.endpoint.place in self.dead else None


@dataclass
class Toy:
    """One service; `happened` and `dead` are shared with the others of a test."""

    name: str
    happened: list[str]
    needs: tuple[str, ...] = ()
    dead: set[str] = field(default_factory=set)
    started: int = 0

    def begin(self, stack: ExitStack, needed: Services) -> Callable[[], ToyRunning]:
        self.started += 1
        place = f"{self.name}-{self.started}"
        with_ = ",".join(endpoint.address for endpoint in needed.values())
        self.happened.append(f"{place} begins with {with_}" if with_ else f"{place} begins")
        stack.callback(self.happened.append, f"{place} ends")

        def wait() -> ToyRunning:
            self.happened.append(f"{place} is up")
            return ToyRunning(self.name, self.name, ToyEndpoint(place), dead=self.dead)

        return wait


def make_kind(name: str, *needs: str, settings: type[BaseModel] = NoSettings) -> type[Any]:
    """Make what a package would register."""
    needed, chosen = needs, settings

    class Kind:
        title = f"the toy {name}"
        role = name
        needs = needed
        jars = ()
        endpoint = ToyEndpoint
        settings = chosen

        def check(self) -> None: ...

        def versions(self) -> Mapping[str, str]:
            return {}

        def embedded(self, settings: BaseModel, options: Options) -> Toy:
            return Toy(name, [], needed)

        def parse(self, given: Given, environ: Mapping[str, str] = os.environ) -> ToyEndpoint:
            return ToyEndpoint(given.text)

        def given(self, endpoint: Endpoint, settings: BaseModel, options: Options) -> Toy:
            return Toy(name, [], needed)

    Kind.name = name  # type: ignore[attr-defined]  # the closure's name is its own
    return Kind
