"""The producer's settings: from the words of the load to those of librdkafka."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.errors import UsageError
from streamgauge.spec.trial import LoadSpec

Setting = str | int | float | bool

_MOST_MESSAGES = 10_000_000
"""The bytes of the buffer shall be the limit, not the number of records in it."""
_SMALLEST_BUFFER = 1024
GIVEN_UP_MS = 30_000
"""After this long without an acknowledgement a record counts as lost."""


def check_load(load: LoadSpec) -> None:
    """Refuse settings that contradict each other.

    Raises:
        UsageError: No producer can do both.
    """
    if load.idempotence and load.acks != "all":
        raise UsageError(
            f"the load cannot be idempotent with acks={load.acks}: that needs acks=all",
            "Add -L idempotence=false, or leave acks out.",
        )
    if load.senders is None and load.spark is None:
        raise UsageError("nobody said how many senders there are", "Write -L senders=1.")
    if load.spark is not None and load.source == "stream":
        raise UsageError(
            "tasks of a Spark cluster cannot stream payloads from a file of this machine",
            "Use -L source=memory.",
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
        "message.timeout.ms": GIVEN_UP_MS,
    }
