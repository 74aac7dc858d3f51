"""What a transport promises: where the records of a trial come in and go out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from streamgauge.spec.endpoints import FlightEndpoint, KafkaEndpoint, PostgresEndpoint


@dataclass(frozen=True)
class Endpoints:
    """Where the records of one trial come in and go out: by a broker or by the driver's queues."""

    kafka: KafkaEndpoint | None
    inputs: Mapping[str, str]
    """Topic, or queue, of each input stream."""
    output: str | None
    """Topic, or queue, of the output; None for a query that writes to a table."""
    partitions: int
    """Of each input topic, and of the output topic."""
    group: str
    """Consumer group to which an engine may commit its offsets."""
    postgres: PostgresEndpoint | None = None
    flight: FlightEndpoint | None = None

    @property
    def broker(self) -> KafkaEndpoint:
        """Return the broker of a trial that has one."""
        assert self.kafka is not None, "a trial over Kafka has a broker"
        return self.kafka

    @property
    def queues(self) -> FlightEndpoint:
        """Return the queues of a trial without a broker."""
        assert self.flight is not None, "a trial over Flight has queues"
        return self.flight


class Transport(Protocol):
    """How records reach the engine and come back: topics of a broker, or the driver's queues."""

    def create(self, endpoints: Endpoints) -> None:
        """Create what the trial needs and wait until it can be used."""

    def delete(self, endpoints: Endpoints) -> None:
        """Delete it; what is gone already is no error."""

    def log_end(self, name: str) -> list[int]:
        """Return the next offset of every partition of a stream or of the output."""

    def newest(self, name: str) -> tuple[int, bytes] | None:
        """Return time and value of the newest output: a sample; None when there is none."""

    def committed(self, group: str, names: Iterable[str]) -> Mapping[tuple[str, int], int]:
        """Return the offsets that the engine has committed, by stream and partition."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class HandsOut(Transport, Protocol):
    """Ability of a transport: it knows itself what the engine has pulled."""

    def handed(self) -> int:
        """Count the records that were handed out, over all partitions of all streams."""
