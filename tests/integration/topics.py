"""Fresh topic names for every test, and hands to look at the topics."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Self

from streamgauge.services.kafka.admin import KafkaAdmin
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.transports.kafka import KafkaTransport
from streamgauge.transports.kafka.channel import KafkaChannel, Tail


def make_endpoints(
    kafka: KafkaEndpoint,
    *streams: str,
    partitions: int = 1,
    output: bool = True,
    postgres: PostgresEndpoint | None = None,
) -> Endpoints:
    name = uuid.uuid4().hex[:8]
    return Endpoints(
        transport="kafka",
        via=kafka,
        inputs={stream: f"{name}-{stream}" for stream in streams or ("sensor1",)},
        output=f"{name}-out" if output else None,
        partitions=partitions,
        group=name,
        services={} if postgres is None else {"postgres": postgres},
    )


class Topics:
    """All topics of a broker, whichever trial they belong to."""

    def __init__(self, endpoint: KafkaEndpoint) -> None:
        self.endpoint = endpoint
        self.admin = KafkaAdmin(endpoint)
        self._looking = open_channel(make_endpoints(endpoint))

    def create(self, endpoints: Endpoints) -> None:
        with open_channel(endpoints) as channel:
            channel.create()

    def delete(self, endpoints: Endpoints) -> None:
        with open_channel(endpoints) as channel:
            channel.delete()

    def log_end(self, topic: str) -> list[int]:
        return self.admin.log_end(topic)

    def newest(self, topic: str) -> tuple[int, bytes] | None:
        return self._looking.newest(topic)

    def tail(self, topic: str, starts: Sequence[int]) -> Tail:
        return self._looking.follow(topic, starts)

    def committed(self, endpoints: Endpoints) -> Mapping[tuple[str, int], int]:
        with open_channel(endpoints) as channel:
            return channel.committed()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._looking.close()


def open_channel(endpoints: Endpoints) -> KafkaChannel:
    channel = KafkaTransport().open(endpoints)
    assert isinstance(channel, KafkaChannel)
    return channel


def client_settings(
    endpoints: Endpoints, **more: str | bool
) -> dict[str, str | int | float | bool]:
    return KafkaEndpoint.of(endpoints.via).client_settings(**more)
