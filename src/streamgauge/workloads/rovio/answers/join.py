"""Answers of the join: purchases and ads of the same user and gem pack in the same window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.messages import Integers
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.rovio.answers.aggregation import last_number
from streamgauge.workloads.rovio.answers.events import (
    Booleans,
    Events,
    events,
    joined,
    numbers,
)
from streamgauge.workloads.rovio.answers.windows import repeated, windows
from streamgauge.workloads.rovio.parameters import Parameters

_STREAMS = 2
"""Purchases have even ids, ads odd ones."""
_OUTPUT = (
    r"^(?P<window>\d{1,18}),(?P<purchase>\d{1,18}),(?P<ad>\d{1,18}),(?P<user>\d{1,18}),"
    r"(?P<pack>\d{1,18}),\d+(?:,(?P<ingested>\d{1,18}))?$"
)
_KEY = ("user", "pack", "window", "purchase", "ad")

_GROUPS = 4096
"""Users and packs are divided into this many groups, each in one place."""
_RECORD = np.dtype(
    [
        *((name, "<i8") for name in ("id", "user", "pack", "price")),
        *((name, "<i8") for name in ("event", "intended", "appended")),
        ("late", "?"),
    ]
)
"""How a record is passed on: as it is in memory, since there are very many."""
Records = npt.NDArray[np.void]


@dataclass(frozen=True)
class Pairs:
    """The output is `window_start_ms,purchase_id,ad_id,user_id,gem_pack_id,price[,ingested_ms]`.

    The key begins with user and gem pack, which determine the group: all their records are brought
    together. An expected value is the output's, `|` and the greatest event time in the window.
    """

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the records of each group, and for all the latest event of each window."""
        parameters = Parameters.model_validate(context.parameters)
        found = events(records, parameters)
        return pa.concat_tables([_packed(found), _latest_events(found.event, parameters)])

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Return one row for each window of each pair; optional where one came too late."""
        parameters = Parameters.model_validate(context.parameters)
        of_windows = partials.filter(pc.is_valid(partials["window_end"]))
        records = _unpacked(partials.filter(pc.is_null(partials["window_end"])))
        purchase, ad = _pairs(records, parameters.size_ms)
        both = purchase["event"], ad["event"]
        row, start = windows(
            np.minimum(*both), np.maximum(*both), parameters.size_ms, parameters.slide_ms
        )
        end = start + parameters.size_ms
        return _pair_rows(purchase[row], ad[row], start, end, _latest(of_windows, end))

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with user, pack, window, purchase and ad as key."""
        found = pc.extract_regex(records["value"].combine_chunks(), pattern=_OUTPUT)
        parts = [pc.cast(pc.struct_field(found, name), pa.string()) for name in _KEY]
        keys = pc.binary_join_element_wise(*parts, ",")
        keys = pc.if_else(pc.is_valid(found), keys, pa.scalar(None, pa.string()))
        columns = {"key": keys, "value": records["value"], "emitted": records["timestamp"]}
        return pa.table(columns, schema=OUTPUTS)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return which outputs have the right price; everything else is in their key."""
        (mine,) = numbers(expected["value"], r",(?P<price>\d+)\|")
        theirs = pc.extract_regex(outputs["value"], pattern=r"^(?:\d+,){5}(?P<price>\d+)")
        price = pc.cast(pc.struct_field(theirs, "price"), pa.string())
        same = pc.equal(price, pc.cast(pa.array(mine), pa.string()))
        return np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.bool_)

    def groups(self, keys: pa.ChunkedArray) -> pa.Array:
        """Find them by user and pack, with which a pair begins; partials are named by group."""
        keys = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
        found = pc.extract_regex(keys, pattern=r"^(?P<user>\d{1,18}),(?P<pack>\d{1,18})")
        user, pack = (
            pc.fill_null(pc.cast(pc.cast(pc.struct_field(found, name), pa.string()), pa.int64()), 0)
            for name in ("user", "pack")
        )
        named = _names(_group(user.to_numpy(), pack.to_numpy()))
        others = pc.if_else(pc.starts_with(keys, "g"), keys, pa.scalar(None, pa.string()))
        return pc.if_else(pc.is_valid(found), named, others)

    def event_times(self, expected: pa.Table) -> pa.Array:
        """Return the greatest event time in each pair's window, on either side."""
        (event,) = numbers(expected["value"], r"\|(?P<event>\d+)$")
        return pa.array(event)

    def ingestion_times(self, outputs: pa.Table) -> pa.Array:
        """Return the last number of each output that has it."""
        return last_number(outputs["value"], _OUTPUT)

    def lenient(self, expected: pa.Table) -> int:
        """Count the pairs with a late record: they may be there or not."""
        return int(pc.sum(expected["optional"]).as_py() or 0)


def _group(user: Integers, pack: Integers) -> Integers:
    """Return the number of the group in which the records of a user and a pack are."""
    return (31 * user + pack) % _GROUPS


def _names(group: Integers) -> pa.Array:
    return pc.binary_join_element_wise("g", pc.cast(pa.array(group), pa.string()), "")


def _packed(found: Events) -> pa.Table:
    """Return the records of each group in one cell."""
    group = _group(found.user, found.pack).astype(np.int16)
    order = np.argsort(group, kind="stable")
    records = np.empty(len(found), _RECORD)
    for name in _RECORD.names or ():
        records[name] = getattr(found, name)[order]
    present, begins = np.unique(group[order], return_index=True)
    ends = np.append(begins, len(found)).astype(np.int32) * np.int32(_RECORD.itemsize)
    parts = [None, pa.py_buffer(ends), pa.py_buffer(records)]
    nothing = np.zeros(len(present), dtype=np.int64)
    return pa.table(
        {
            "key": _names(present.astype(np.int64)),
            "value": pa.Array.from_buffers(pa.binary(), len(present), parts),
            "intended": nothing,
            "appended": nothing,
            "window_end": pa.nulls(len(present), pa.int64()),
            "optional": nothing.astype(np.bool_),
        },
        schema=EXPECTED,
    )


def _unpacked(rows: pa.Table) -> Records:
    return np.frombuffer(b"".join(rows["value"].to_pylist()), _RECORD)


def _latest_events(event: Integers, parameters: Parameters) -> pa.Table:
    """Return the greatest event time in each window, in rows without a group."""
    row, start = windows(event, event, parameters.size_ms, parameters.slide_ms)
    latest = pa.table({"end": start + parameters.size_ms, "event": event[row]})
    latest = latest.group_by("end").aggregate([("event", "max")])
    return pa.table(
        {
            "key": [""] * len(latest),
            "value": pa.nulls(len(latest), pa.binary()),
            "intended": latest["event_max"],
            "appended": latest["event_max"],
            "window_end": latest["end"],
            "optional": [False] * len(latest),
        },
        schema=EXPECTED,
    )


def _latest(of_windows: pa.Table, end: Integers) -> Integers:
    """Look up the greatest event time of the windows with these ends."""
    known = of_windows.group_by("window_end").aggregate([("intended", "max")])
    known = known.sort_by("window_end")
    place = np.searchsorted(known["window_end"].to_numpy(), end)
    return np.asarray(known["intended_max"].to_numpy()[place], dtype=np.int64)


def _pairs(records: Records, size_ms: int) -> tuple[Records, Records]:
    """Find all purchases and ads of the same key less than a window apart."""
    is_ad = records["id"] % _STREAMS == 1
    _, code = np.unique(records["user"] << 32 | records["pack"], return_inverse=True)
    bought, seen = (np.bincount(code[side], minlength=len(code)) > 0 for side in (~is_ad, is_ad))
    meet = (bought & seen)[code]
    if not meet.any():
        return records[:0], records[:0]
    purchases, ads = (np.flatnonzero(meet & side) for side in (~is_ad, is_ad))
    # Times of one key after those of the key before, too far apart to be confused.
    event = records["event"] - records["event"].min()
    place = event + code * (event.max() + 2 * size_ms)
    ads = ads[np.argsort(place[ads], kind="stable")]
    first = np.searchsorted(place[ads], place[purchases] - size_ms, side="right")
    stop = np.searchsorted(place[ads], place[purchases] + size_ms, side="left")
    row, position = repeated(stop - first)
    return records[purchases[row]], records[ads[first[row] + position]]


def _pair_rows(
    purchase: Records, ad: Records, start: Integers, end: Integers, event: Integers
) -> pa.Table:
    """Write the pairs: each is due at its window's end, and may come before."""
    user_and_pack = joined(purchase["user"], purchase["pack"])
    window_and_ids = joined(start, purchase["id"], ad["id"])
    output = pc.binary_join_element_wise(
        window_and_ids, user_and_pack, joined(purchase["price"]), ","
    )
    value = pc.binary_join_element_wise(output, joined(event), "|")
    return pa.table(
        {
            "key": pc.binary_join_element_wise(user_and_pack, window_and_ids, ","),
            "value": pc.cast(value, pa.binary()),
            "intended": np.maximum(purchase["intended"], ad["intended"]),
            "appended": np.maximum(purchase["appended"], ad["appended"]),
            "window_end": end,
            "optional": purchase["late"] | ad["late"],
        },
        schema=EXPECTED,
    )
