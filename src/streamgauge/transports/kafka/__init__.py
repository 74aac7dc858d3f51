"""The transport `kafka`: topics of a Kafka cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from streamgauge.errors import NotReady
from streamgauge.services.kafka.endpoint import JMX, KafkaEndpoint
from streamgauge.spec.endpoints import Endpoint, Endpoints, Services
from streamgauge.spec.offering import Backlog
from streamgauge.spec.query import Query
from streamgauge.spec.records import Recorded
from streamgauge.spec.transport import Channel, Counters, Outgoing, Outlet, Reader
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.spec.workload import Workload
from streamgauge.transports.base import BaseTransport

if TYPE_CHECKING:
    from streamgauge.spec.transport import Records

_RECORD_BYTES = 300
"""Upper bound of the bytes of a record in a topic, for the present workloads."""
_FORGET_BYTES = 1 << 30
"""At least this much of each partition is kept in a topic that forgets."""


class KafkaTransport(BaseTransport):
    """Topics of a Kafka cluster, stamped with its brokers' time."""

    name: ClassVar[str] = "kafka"
    title: ClassVar[str] = "topics of a Kafka broker; latency between its own time stamps"
    services: ClassVar[tuple[str, ...]] = ("kafka",)
    via: ClassVar[type[Endpoint]] = KafkaEndpoint
    backlog: ClassVar[Backlog] = Backlog(greater={90.0: 4})
    remembers: ClassVar[int] = _FORGET_BYTES // _RECORD_BYTES
    heeds: ClassVar[frozenset[str]] = frozenset(
        {"acks", "batch", "linger_s", "buffer", "compression", "idempotence"}
    )

    def check(self, trial: TrialSpec, query: Query, workload: Workload) -> None:
        """Refuse settings of the load that contradict each other."""
        from streamgauge.transports.kafka.sending import check_load

        super().check(trial, query, workload)
        check_load(trial.load)

    def disk_bytes(self, trial: TrialSpec, streams: int, records: int) -> int:
        """Count inputs and outputs; the old records of a trial without an engine are forgotten."""
        written = 2 * streams * records * _RECORD_BYTES
        kept = 8 * streams * trial.partitions * _FORGET_BYTES
        return min(written, kept) if trial.engine is None else written

    def endpoint(self, services: Services) -> Endpoint:
        """Let the broker carry the records."""
        return services["kafka"]

    def open(self, endpoints: Endpoints) -> Channel:
        """Return the harness's way to the topics."""
        from streamgauge.transports.kafka.channel import KafkaChannel

        return KafkaChannel(endpoints, _FORGET_BYTES)

    def outgoing(self, endpoints: Endpoints, load: LoadSpec, *, asks: bool) -> Outgoing:
        """Return the producers of the load and of markers."""
        from streamgauge.transports.kafka.sending import KafkaOutgoing

        return KafkaOutgoing(KafkaEndpoint.of(endpoints.via), load, asks=asks)

    def counters(self, endpoints: Endpoints) -> AbstractContextManager[Counters]:
        """Ask one broker for its counters, over JMX."""
        from streamgauge.services.kafka.counters import broker_counters

        if (jmx := KafkaEndpoint.of(endpoints.via).jmx) is None:
            raise NotReady(
                f"the broker's own counters are left out: {JMX} does not say where they are"
            )
        return broker_counters(jmx)

    def reader(self, endpoints: Endpoints) -> Reader:
        """Return a consumer of all input topics."""
        from streamgauge.transports.kafka.engine_side import TopicReader

        return TopicReader(endpoints)

    def outlet(self, endpoints: Endpoints) -> Outlet:
        """Return a producer to the output topic."""
        from streamgauge.transports.kafka.engine_side import TopicOutlet

        return TopicOutlet(endpoints)

    def read_back(
        self,
        trial: TrialSpec,  # noqa: ARG002 - the topics have it all
        endpoints: Endpoints,
        folder: Path,  # noqa: ARG002
        ends: Sequence[int],
    ) -> Recorded:
        """Return the records in the topics."""
        from streamgauge.transports.kafka.records import KafkaRecords

        via = KafkaEndpoint.of(endpoints.via)
        inputs: dict[str, Records] = {
            stream: KafkaRecords(via, topic) for stream, topic in endpoints.read.items()
        }
        if endpoints.output is None:
            return Recorded(inputs, None)
        return Recorded(inputs, KafkaRecords(via, endpoints.output, tuple(ends), gaps=True))

    def clear(self, services: Services, prefix: str) -> None:
        """Delete the topics that an earlier attempt of a run could not delete itself."""
        from streamgauge.services.kafka.admin import KafkaAdmin

        admin = KafkaAdmin(KafkaEndpoint.of(services["kafka"]))
        admin.delete(admin.topics(f"{prefix}-"))
