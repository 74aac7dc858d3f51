"""How the sender's process sends to topics."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from streamgauge.errors import TrialInvalid, UsageError
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.records import Appended, Single
from streamgauge.spec.trial import LoadSpec

Setting = str | int | float | bool

_MOST_MESSAGES = 10_000_000
"""The bytes of the buffer should be the limit, not the number of records in it."""
_SMALLEST_BUFFER = 1024
_GIVEN_UP_MS = 30_000
"""After this long without an acknowledgement a record counts as lost."""
_FLUSH_S = 35.0
"""A little longer than a record may take to be delivered or given up."""


class KafkaOutgoing:
    """The producers of the load and of single records."""

    def __init__(self, endpoint: KafkaEndpoint, load: LoadSpec, *, asks: bool) -> None:
        settings = producer_settings(load, endpoint.client_settings())
        self.errors = 0
        self.requests_s: list[float] = []
        # Without acknowledgements only the client's own requests are answered.
        statistics = {"statistics.interval.ms": 1000} if asks and load.acks != "0" else {}
        self.producer: Any = Producer(
            {
                **settings,
                **statistics,
                "delivery.report.only.error": True,
                "on_delivery": self._lost,
                "stats_cb": self._take_statistics,
            }
        )
        # Single records report each delivery, which would be too expensive for the load.
        self._single = Producer({**settings, "acks": "all"})
        self.producer.list_topics(timeout=10)

    def send(self, records: Sequence[Single]) -> list[Appended]:
        """Send records and return where each was appended.

        Raises:
            TrialInvalid: The broker does not take them.
        """
        found: dict[int, Appended] = {}

        def keep(number: int) -> Any:
            def delivered(error: KafkaError | None, message: Message) -> None:
                offset = message.offset()
                if error is None and offset is not None:
                    found[number] = Appended(offset, message.timestamp()[1])

            return delivered

        for number, each in enumerate(records):
            self._single.produce(
                each.topic, each.value, each.key, each.partition, on_delivery=keep(number)
            )
        if self._single.flush(_FLUSH_S) or len(found) < len(records):
            raise TrialInvalid(f"the broker did not take all markers within {_FLUSH_S:g} s")
        return [found[number] for number in range(len(records))]

    def _take_statistics(self, text: str) -> None:
        """Keep how long the brokers took, on average over the last second, to answer."""
        waits = [broker.get("rtt", {}) for broker in json.loads(text)["brokers"].values()]
        answers = sum(wait.get("cnt", 0) for wait in waits)
        if answers:
            self.requests_s.append(sum(wait.get("sum", 0) for wait in waits) / answers / 1e6)

    def _lost(self, error: KafkaError | None, _message: Message) -> None:
        self.errors += 1
        if self.errors == 1:
            print(f"the first lost record: {error}", file=sys.stderr)  # noqa: T201


def check_load(load: LoadSpec) -> None:
    """Refuse settings that contradict each other.

    Raises:
        UsageError: No producer can do both.
    """
    if load.idempotence and load.acks != "all":
        raise UsageError(
            f"the load cannot be idempotent with acks={load.acks}: that needs acks=all",
            "Add -L idempotence=false, or leave out acks.",
        )
    if load.buffer < max(load.batch, _SMALLEST_BUFFER):
        raise UsageError(
            f"a buffer of {load.buffer} B cannot hold a batch of {load.batch} B",
            "Raise -L buffer, or lower -L batch.",
        )


def producer_settings(load: LoadSpec, client: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the producer's settings for a load, on top of those of the client."""
    return {
        **client,
        "acks": load.acks,
        "enable.idempotence": str(load.idempotence).lower(),
        "batch.size": load.batch,
        "batch.num.messages": 1_000_000,
        "linger.ms": load.linger_s * 1000,
        "queue.buffering.max.kbytes": load.buffer // 1024,
        "queue.buffering.max.messages": _MOST_MESSAGES,
        "compression.type": load.compression,
        "message.timeout.ms": _GIVEN_UP_MS,
    }
