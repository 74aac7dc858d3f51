"""Answers of the join: purchases and ads of the same user and gem pack in the same window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.messages import Integers
from streamgauge.spec.contracts import AnswerContext
from streamgauge.workloads.rovio.answers.aggregation import last_number
from streamgauge.workloads.rovio.answers.events import (
    Booleans,
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


@dataclass(frozen=True)
class Pairs:
    """The output is `window_start_ms,purchase_id,ad_id,user_id,gem_pack_id,price[,ingested_ms]`.

    The key begins with user and gem pack, which are the group: all their records are brought
    together. An expected value is the output's, `|` and the greatest event time in the window.
    """

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return `id,price,event` of each record, and for all the latest event of each window."""
        parameters = Parameters.model_validate(context.parameters)
        found = events(records, parameters)
        own = pa.table(
            {
                "key": joined(found.user, found.pack),
                "value": pc.cast(joined(found.id, found.price, found.event), pa.binary()),
                "intended": found.intended,
                "appended": found.appended,
                "window_end": pa.nulls(len(found), pa.int64()),
                "optional": found.late,
            },
            schema=EXPECTED,
        )
        return pa.concat_tables([own, _latest_events(found.event, parameters)])

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Return one row for each window of each pair; optional where one came too late."""
        parameters = Parameters.model_validate(context.parameters)
        of_windows = partials.filter(pc.is_valid(partials["window_end"]))
        records = _Records(partials.filter(pc.is_null(partials["window_end"])))
        purchase, ad = _pairs(records, parameters.size_ms)
        both = records.event[purchase], records.event[ad]
        row, start = windows(
            np.minimum(*both), np.maximum(*both), parameters.size_ms, parameters.slide_ms
        )
        event = _latest(of_windows, start + parameters.size_ms)
        return _pair_rows(records, purchase[row], ad[row], start, event)

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with user, pack, window, purchase and ad as key."""
        found = pc.extract_regex(records["value"].combine_chunks(), pattern=_OUTPUT)
        parts = [pc.cast(pc.struct_field(found, name), pa.string()) for name in _KEY]
        keys = pc.binary_join_element_wise(*parts, ",")
        keys = pc.if_else(pc.is_valid(found), keys, pa.scalar(None, pa.string()))
        columns = {"key": keys, "value": records["value"], "emitted": records["timestamp"]}
        return pa.table(columns, schema=OUTPUTS)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Tell which outputs have the right price, all else being their key."""
        (mine,) = numbers(expected["value"], r",(?P<price>\d+)\|")
        theirs = pc.extract_regex(outputs["value"], pattern=r"^(?:\d+,){5}(?P<price>\d+)")
        price = pc.cast(pc.struct_field(theirs, "price"), pa.string())
        same = pc.equal(price, pc.cast(pa.array(mine), pa.string()))
        return np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.bool_)

    def groups(self, keys: pa.ChunkedArray) -> pa.Array:
        """Return user and pack, with which every key begins but those that are for all."""
        found = pc.extract_regex(keys, pattern=r"^(?P<group>\d+,\d+)")
        groups = pc.if_else(
            pc.is_valid(found), pc.struct_field(found, "group"), pa.scalar(None, pa.string())
        )
        return groups.combine_chunks() if isinstance(groups, pa.ChunkedArray) else groups

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


class _Records:
    """The columns of single records, read back from partial rows."""

    def __init__(self, rows: pa.Table) -> None:
        self.keys = rows["key"].combine_chunks()
        self.code = np.asarray(self.keys.dictionary_encode().indices, dtype=np.int64)
        """The same for the same user and pack."""
        pattern = r"^(?P<id>\d+),(?P<price>\d+),(?P<event>\d+)$"
        self.id, self.price, self.event = numbers(rows["value"], pattern)
        self.intended = rows["intended"].to_numpy()
        self.appended = rows["appended"].to_numpy()
        self.late = rows["optional"].to_numpy()


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


def _pairs(records: _Records, size_ms: int) -> tuple[Integers, Integers]:
    """Find the rows of all purchases and ads of the same key less than a window apart."""
    is_ad = records.id % _STREAMS == 1
    purchases, ads = np.flatnonzero(~is_ad), np.flatnonzero(is_ad)
    if not len(purchases) or not len(ads):
        return purchases[:0], ads[:0]
    # Times of one key after those of the key before, too far apart to be mistaken for each other.
    begin = records.event.min()
    place = records.event - begin + records.code * (np.ptp(records.event) + 2 * size_ms)
    ads = ads[np.argsort(place[ads], kind="stable")]
    first = np.searchsorted(place[ads], place[purchases] - size_ms, side="right")
    stop = np.searchsorted(place[ads], place[purchases] + size_ms, side="left")
    row, position = repeated(stop - first)
    return purchases[row], ads[first[row] + position]


def _pair_rows(
    records: _Records, purchase: Integers, ad: Integers, start: Integers, event: Integers
) -> pa.Table:
    """Write the pairs; they have no window's end, since nobody has to wait for it."""
    user_and_pack = records.keys.take(pa.array(purchase))
    ids = records.id[purchase], records.id[ad]
    output = pc.binary_join_element_wise(
        joined(start, *ids), user_and_pack, joined(records.price[purchase]), ","
    )
    value = pc.binary_join_element_wise(output, joined(event), "|")
    return pa.table(
        {
            "key": pc.binary_join_element_wise(user_and_pack, joined(start, *ids), ","),
            "value": pc.cast(value, pa.binary()),
            "intended": np.maximum(records.intended[purchase], records.intended[ad]),
            "appended": np.maximum(records.appended[purchase], records.appended[ad]),
            "window_end": pa.nulls(len(start), pa.int64()),
            "optional": records.late[purchase] | records.late[ad],
        },
        schema=EXPECTED,
    )
