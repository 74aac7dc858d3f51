"""Records of a trial: as they are sent, as a stream holds them, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.spec.transport import Records


@dataclass(frozen=True)
class Record:
    """One record as a stream holds it."""

    partition: int
    offset: int
    timestamp_ms: int
    """When it was appended."""
    value: bytes


@dataclass(frozen=True)
class Single:
    """A record that is sent on its own, as a marker is."""

    topic: str
    """The stream, by the name of its place in `Endpoints`."""
    partition: int
    value: bytes
    key: bytes | None = None


@dataclass(frozen=True)
class Appended:
    """Where and when a record was appended."""

    offset: int
    at_ms: int


@dataclass(frozen=True)
class Recorded:
    """All records of a trial."""

    inputs: Mapping[str, Records]
    """By stream, including those that were sent before the load."""
    output: Records | None
    """None for a query that writes to a service."""
