"""Read recorded inputs: whose they are, when they happened, whether they came too late."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.messages import Integers, integers, refuse
from streamgauge.workloads.rovio.parameters import Parameters

Booleans = npt.NDArray[np.bool_]

OUT_OF_STEP_MS = 50
"""Partitions may be this far out of step: no record is late just because of that."""

_RECORD = (
    r"^(?P<id>\d+);(?P<intended>\d+);(?P<delay>-?\d+);(?P<user>\d+);(?P<pack>\d+)"
    r"(?:;(?P<price>\d+))?$"
)


@dataclass(frozen=True)
class Events:
    """Columns of records, sentinels left out. Times are epoch milliseconds."""

    id: Integers
    user: Integers
    pack: Integers
    price: Integers
    """In cents; 0 for ads."""
    event: Integers
    intended: Integers
    appended: Integers
    late: Booleans
    """Came later than the query allows, so it may be counted or not."""

    def __len__(self) -> int:
        return len(self.id)

    def where(self, chosen: Booleans) -> Events:
        """Return some of them."""
        return Events(*(getattr(self, field.name)[chosen] for field in fields(self)))


def events(records: pa.Table, parameters: Parameters) -> Events:
    """Read records of either stream.

    Raises:
        TrialInvalid: The topic holds something that we did not send.
    """
    found = _written(records) if "value" in records.column_names else _columns(records)
    appended = np.asarray(records["timestamp"].to_numpy(), dtype=np.int64)
    event = found.intended - found.delay
    late = found.reached - event > parameters.allowed_delay_ms
    if "value" in records.column_names:  # partitions of the harness's queues are always in step
        late |= appended - event > parameters.allowed_delay_ms + OUT_OF_STEP_MS
    read = Events(
        found.id, found.user, found.pack, found.price, event, found.intended, appended, late
    )
    ours = found.delay >= 0
    return read if ours.all() else read.where(ours)


@dataclass(frozen=True)
class _Fields:
    """The fields of records, whichever way they came."""

    id: Integers
    intended: Integers
    delay: Integers
    user: Integers
    pack: Integers
    price: Integers
    reached: Integers
    """How far each record's partition of its stream had come with it."""


def _written(records: pa.Table) -> _Fields:
    values = records["value"].combine_chunks()
    found = pc.extract_regex(values, pattern=_RECORD)
    if found.null_count:
        refuse(values, pc.is_null(found), "it is neither a purchase nor an ad")
    price = pc.struct_field(found, "price")
    is_ad = pc.equal(price, b"")
    id_, intended, delay, user, pack = (
        integers(pc.struct_field(found, name), values, name)
        for name in ("id", "intended", "delay", "user", "pack")
    )
    cents = integers(pc.if_else(is_ad, b"0", price), values, "price")
    return _Fields(
        id_, intended, delay, user, pack, cents, _reached(records, np.asarray(is_ad), intended)
    )


def _columns(records: pa.Table) -> _Fields:
    """Take the columns of a range of one partition of one queue."""
    is_ad = "price" not in records.column_names
    id_, intended, delay, user, pack = (
        np.asarray(records[name].to_numpy(), dtype=np.int64)
        for name in ("id", "intended", "delay_ms", "user", "pack")
    )
    price = np.zeros(len(id_)) if is_ad else records["price"].to_numpy()
    reached = np.maximum.accumulate(intended)
    return _Fields(id_, intended, delay, user, pack, price.astype(np.int64), reached)


def _reached(records: pa.Table, is_ad: Booleans, intended: Integers) -> Integers:
    """Return how far each record's partition of its stream had come with it.

    The records of one sender come in the order of their intended times, those of several do not.
    """
    partition = np.asarray(records["partition"].to_numpy(), dtype=np.int64)
    group = 2 * partition + is_ad
    order = np.lexsort((records["offset"].to_numpy(), group))
    place = group * (intended.max(initial=0) + 1)  # keeps the times of groups apart
    reached = np.empty_like(intended)
    reached[order] = np.maximum.accumulate((intended + place)[order])
    return np.asarray(reached - place)


def joined(*columns: Integers | pa.Array) -> pa.Array:
    """Write the numbers of each row, separated by commas."""
    cells = [pc.cast(pa.array(column), pa.string()) for column in columns]
    return pc.binary_join_element_wise(*cells, ",")


def numbers(cells: pa.ChunkedArray | pa.Array, pattern: str) -> list[Integers]:
    """Read the numbers that a pattern's groups find in our own writing."""
    found = pc.extract_regex(cells, pattern=pattern)
    groups = (pc.struct_field(found, field) for field in range(found.type.num_fields))
    return [
        np.asarray(pc.cast(pc.cast(group, pa.string()), pa.int64()).to_numpy(zero_copy_only=False))
        for group in groups
    ]
