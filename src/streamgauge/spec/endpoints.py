"""Where to reach things: services, and what carries the records of a trial."""

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
    """Where to reach something; each kind is a dataclass of its own."""

    service: ClassVar[str]
    """The service or transport that it belongs to; also used in the names of its environment
    variables."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Return the address as it may be shown: without user and secrets."""

    def places(self) -> list[tuple[str, int]]:
        """Return host and port of each server that its clients connect to."""
        return places_in(self.address)

    def written(self) -> dict[str, Json]:
        """Return what may be written to a file."""
        plain = (each for each in dataclasses.fields(self) if not each.metadata)
        return {each.name: _json(getattr(self, each.name)) for each in plain}

    def secrets(self) -> dict[str, str]:
        """Return what must not be written to a file, by the names of environment variables."""
        return {name: value for name, key in self._variables() if (value := getattr(self, key))}

    @classmethod
    def restored(cls, written: Mapping[str, Any], environ: Mapping[str, str]) -> Self:
        """Bring together what was written and the secrets from the environment."""
        return cls(**written, **{key: environ.get(name, "") for name, key in cls._variables()})

    @classmethod
    def of(cls, endpoint: Endpoint | None) -> Self:
        """Return an endpoint as one of this kind, which it has to be."""
        if not isinstance(endpoint, cls):
            raise TypeError(f"{endpoint!r} is not a {cls.__name__}")
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
    """What carries the records: a broker, the harness's queues."""
    inputs: Mapping[str, str]
    """Topic of each input stream, or whatever the transport calls it."""
    output: str | None
    """The same for the output; None for a query that writes to a service."""
    partitions: int
    """Of each input stream, and of the output."""
    group: str
    """Consumer group to which an engine may commit its offsets."""
    configuration: Mapping[str, str] = field(default_factory=dict)
    """The same for streams that are sent as a whole before the load."""
    internal: Mapping[str, str] = field(default_factory=dict)
    """The same for streams that the query writes and reads itself."""
    services: Services = field(default_factory=dict)

    @property
    def read(self) -> dict[str, str]:
        """Return all streams that the query reads and did not write itself."""
        return {**self.inputs, **self.configuration}

    @property
    def places(self) -> dict[str, str]:
        """Return all streams by what they contain."""
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
