"""What an engine needs for its jobs, and what it says about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.spec.endpoints import Endpoint


@dataclass(frozen=True)
class Problem:
    """Something that keeps an engine from running, and what to do about it."""

    what: str
    remedy: str


@dataclass(frozen=True)
class Resources:
    """What the engine's processes may use."""

    cpus: tuple[int, ...]
    """Of this machine: for all of the engine, or for what directs its instances."""
    cluster: Endpoint | None = None
    """The service that runs its instances; None for an engine in one process."""


@dataclass(frozen=True)
class Modes:
    """In which modes, and in which other ways, an engine can run a query."""

    allowed: tuple[str, ...]
    """The default first."""
    refused: Mapping[str, str]
    """The others, each with the reason."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ways to run it that `-E NAME=VALUE` chooses between, the default first."""


@dataclass(frozen=True)
class Progress:
    """How far an engine says it has come."""

    finished: Mapping[tuple[str, int], int]
    """Next offset to be read, by (stream, partition), of all finished work."""
    idle: bool
    """Nothing was left to do when this was reported."""
    at: float
    """When it was reported, epoch seconds."""
