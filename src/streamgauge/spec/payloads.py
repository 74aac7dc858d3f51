"""What the records of a stream say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Payloads:
    """What a stream's records say, without what their form puts in front."""

    blocks: Iterable[Sequence[bytes]]
    """All of them in the order of the records, rendered when they are asked for, a bounded number
    at a time; after the last comes the first again."""
    marker: bytes | None = None
    """Payload of markers; None where the stream's own next records serve."""
    sentinel: bytes | None = None
    """Payload of sentinels, for queries that need them to close their last windows."""
    keys: Iterable[Sequence[bytes]] | None = None
    """A key for each payload, in blocks as long as those of the payloads and asked for together
    with them; None for records without a key."""
    partition: Literal["number", "key"] = "number"
    """What the partition of a record follows: its number, or its key as in Kafka's own producers.
    Markers and sentinels go to every partition, so a stream whose partitions follow keys needs
    markers of its own."""
    marker_key: bytes | None = None
    """Key of markers and sentinels."""
    markers: Callable[[int, int], Sequence[bytes]] | None = None
    """Payloads of one marker by its number and time, instead of `marker`: where all markers must
    differ, or one needs several records for an answer. Always the same number of payloads."""
    shifts: Sequence[int] | None = None
    """Where each payload carries its event time: how many milliseconds that is after the intended
    time, record by record and then from the beginning again. Payloads are then formats that take
    it as `%d`, and so may be a marker of its own. None for payloads that are sent as they are."""
    dated: Callable[[int], bytes] | None = None
    """How an intended time is written in each payload, which is then a format that takes it as
    `%b`; markers and sentinels are sent as they are."""


@dataclass(frozen=True)
class Columns:
    """What a stream's records say, as columns of whole numbers: after `id` and `intended`.

    They have no form and no key, and their partition follows their number.
    """

    ring: pa.Table
    """Record i has the row `i % len(ring)`."""
    sentinel: Mapping[str, int]
    """What sentinels say."""
