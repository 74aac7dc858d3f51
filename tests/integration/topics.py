"""Fresh topic names for every test."""

import uuid

from streamgauge.spec.endpoints import KafkaEndpoint, PostgresEndpoint
from streamgauge.spec.transport import Endpoints


def make_endpoints(
    kafka: KafkaEndpoint,
    *streams: str,
    partitions: int = 1,
    output: bool = True,
    postgres: PostgresEndpoint | None = None,
) -> Endpoints:
    name = uuid.uuid4().hex[:8]
    return Endpoints(
        kafka=kafka,
        inputs={stream: f"{name}-{stream}" for stream in streams or ("sensor1",)},
        output=f"{name}-out" if output else None,
        partitions=partitions,
        group=name,
        postgres=postgres,
    )
