"""Where the records of a trial go in and come out."""

from __future__ import annotations

import secrets

from streamgauge.errors import UsageError
from streamgauge.services import runtime
from streamgauge.spec.endpoints import FlightEndpoint
from streamgauge.spec.transport import Endpoints, Transport
from streamgauge.spec.trial import TrialSpec
from streamgauge.spec.workload import Query
from streamgauge.transports.flight import FlightTransport
from streamgauge.transports.kafka import KafkaTransport
from streamgauge.trial.bench import Bench


def trial_endpoints(spec: TrialSpec, query: Query, bench: Bench) -> Endpoints:
    """Name the topics, or queues, of a trial."""
    # A repeated trial never meets the topics of its first try.
    name = f"{bench.topics}-{spec.number:03}-{secrets.token_hex(2)}"
    needs_database = bool(query.tables) or query.output == "table"
    if needs_database and bench.postgres is None:
        raise UsageError(f"{query.name} needs a database")
    flight = None
    if spec.transport == "flight":
        flight = FlightEndpoint("127.0.0.1", runtime.free_port(), secrets.token_urlsafe())
    return Endpoints(
        kafka=bench.kafka.endpoint if bench.kafka else None,
        flight=flight,
        inputs={stream: f"{name}-{stream}" for stream in query.streams},
        output=f"{name}-out" if query.output == "topic" else None,
        partitions=spec.partitions,
        group=name,
        postgres=bench.postgres.endpoint if bench.postgres else None,
    )


def topics(endpoints: Endpoints) -> dict[str, str]:
    """Return the topics, or queues, by what is in them."""
    output = {"out": endpoints.output} if endpoints.output else {}
    return {**endpoints.inputs, **output}


def open_transport(endpoints: Endpoints) -> Transport:
    """Return the way to the endpoints."""
    if endpoints.flight is not None:
        return FlightTransport(endpoints.flight)
    return KafkaTransport(endpoints.broker)
