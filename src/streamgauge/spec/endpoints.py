"""Where things are to be reached: services, and by what the records of a trial travel."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from streamgauge.jobfile import variable
from streamgauge.spec.values import Json

_SECRET, _UNWRITTEN = "secret", "unwritten"


def secret(what: str = "password") -> Any:
    """Declare a field that no file holds: it travels by the environment."""
    return field(default="", repr=False, metadata={_SECRET: what})


def unwritten(**options: Any) -> Any:
    """Declare a field that stays in the harness."""
    return field(repr=False, metadata={_UNWRITTEN: True}, **options)


@dataclass(frozen=True)
class Endpoint(ABC):
    """Where something is to be reached; a dataclass of its own for each kind."""

    service: ClassVar[str]
    """Whose it is, a service's or a transport's; also the word in the names of its environment
    variables."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Return the address as it may be shown: without user and secrets."""

    def places(self) -> list[tuple[str, int]]:
        """Return host and port of each server that a client of it connects to."""
        return places_in(self.address)

    def written(self) -> dict[str, Json]:
        """Return what a file may say of it."""
        plain = (each for each in dataclasses.fields(self) if not each.metadata)
        return {each.name: _json(getattr(self, each.name)) for each in plain}

    def secrets(self) -> dict[str, str]:
        """Return what no file may say, by the names of environment variables."""
        return {name: value for name, key in self._variables() if (value := getattr(self, key))}

    @classmethod
    def restored(cls, written: Mapping[str, Any], environ: Mapping[str, str]) -> Self:
        """Bring together what was written and the secrets from the environment."""
        return cls(**written, **{key: environ.get(name, "") for name, key in cls._variables()})

    @classmethod
    def of(cls, endpoint: Endpoint | None) -> Self:
        """Return an endpoint as one of this kind, which it is known to be."""
        if not isinstance(endpoint, cls):
            raise TypeError(f"{endpoint!r} is no {cls.__name__}")
        return endpoint

    @classmethod
    def _variables(cls) -> list[tuple[str, str]]:
        """List the variables and fields of the secrets."""
        return [
            (variable(cls.service, each.metadata[_SECRET]), each.name)
            for each in dataclasses.fields(cls)
            if _SECRET in each.metadata
        ]


Services = Mapping[str, Endpoint]
"""Endpoints of services by name."""


@dataclass(frozen=True)
class Endpoints:
    """Where the records of one trial come in and go out, and the services that it uses."""

    transport: str
    """Name of what carries the records."""
    via: Endpoint
    """By what they travel: a broker, the harness's queues."""
    inputs: Mapping[str, str]
    """Topic, or what else the transport calls it, of each input stream."""
    output: str | None
    """The same of the output; None for a query that writes to a service."""
    partitions: int
    """Of each input stream, and of the output."""
    group: str
    """Consumer group to which an engine may commit its offsets."""
    configuration: Mapping[str, str] = field(default_factory=dict)
    """The same of streams that are sent as a whole before the load."""
    internal: Mapping[str, str] = field(default_factory=dict)
    """The same of streams that the query writes and reads itself."""
    services: Services = field(default_factory=dict)

    @property
    def read(self) -> dict[str, str]:
        """Return all streams that the query reads and did not write itself."""
        return {**self.inputs, **self.configuration}

    @property
    def places(self) -> dict[str, str]:
        """Return all of them by what is in them."""
        output = {"out": self.output} if self.output else {}
        return {**self.read, **self.internal, **output}


def places_in(address: str) -> list[tuple[str, int]]:
    """Return host and port of each server that an address names."""
    servers = address.rpartition("://")[2].partition("/")[0].split(",")
    found = (server.strip().rpartition(":") for server in servers)
    return [(host.strip("[]"), int(port)) for host, _, port in found if host and port.isdigit()]


def _json(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    assert value is None or isinstance(value, str | int | float)
    return value
