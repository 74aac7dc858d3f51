"""Answers of the aggregation: what each gem pack brought in each window."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.rovio.answers.events import (
    Booleans,
    events,
    joined,
    numbers,
)
from streamgauge.workloads.rovio.answers.windows import windows
from streamgauge.workloads.rovio.parameters import Parameters

_OUTPUT = r"^(?P<key>\d{1,18},\d{1,18}),-?\d{1,18}(?:,(?P<ingested>\d{1,18}))?$"
_TIMES = ("event", "intended", "appended", "window_end")
_FEW = 64
"""Late prices whose sums are all tried before those of all prices."""
_CONTRIBUTION = ("pack", "price", "event", "intended", "appended")


@dataclass(frozen=True)
class Sums:
    """The output is `window_start_ms,gem_pack_id,sum`, with `,ingested_ms` if the engine gives it.

    An expected value is `window_start_ms,gem_pack_id,sum|event|late,late…`: the sum of what was
    there in time, its greatest event time, and the late prices, any of which may be included.
    """

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return `sum,event` of what came in time by window and pack, and each late record."""
        parameters = Parameters.model_validate(context.parameters)
        found = events(records, parameters)
        table = pa.table({name: getattr(found, name) for name in _CONTRIBUTION})
        # All events of a slice lie in the same windows, so it can be summed up first.
        slice_ms = math.gcd(parameters.size_ms, parameters.slide_ms)
        table = table.append_column("at", pa.array(found.event - found.event % slice_ms))
        late = np.flatnonzero(found.late)
        ours = table.take(pa.array(np.flatnonzero(~found.late))) if len(late) else table
        in_time = _sums(_in_windows(_sums(ours, "at"), parameters), "start")
        too_late = _in_windows(table.take(pa.array(late)), parameters)
        return pa.concat_tables(
            [
                _partial_rows(in_time, parameters.size_ms, late=False),
                _partial_rows(too_late, parameters.size_ms, late=True),
            ]
        )

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:  # noqa: ARG002
        """Return one row per window and pack; optional where all records came too late."""
        price, event = numbers(partials["value"], r"^(?P<price>\d+),(?P<event>\d+)$")
        rows = partials.drop_columns(["value"])
        rows = rows.append_column("price", pa.array(price)).append_column("event", pa.array(event))
        in_time = _summed(rows.filter(pc.invert(rows["optional"])))
        late = rows.filter(rows["optional"])
        alone = late.filter(pc.invert(pc.is_in(late["key"], in_time["key"].combine_chunks())))
        only_late = _summed(alone)
        zeros = pa.array(np.zeros(len(only_late), dtype=np.int64))
        place = only_late.schema.get_field_index("price")
        total = pa.concat_tables([in_time, only_late.set_column(place, "price", zeros)])
        optional = np.repeat([False, True], [len(in_time), len(only_late)])
        return pa.table(
            {
                **{name: total[name] for name in ("key", "intended", "appended", "window_end")},
                "value": _values(total, late),
                "optional": optional,
            }
        ).select(EXPECTED.names)

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with window and pack as key."""
        found = pc.extract_regex(records["value"].combine_chunks(), pattern=_OUTPUT)
        keys = pc.cast(pc.struct_field(found, "key"), pa.string())
        keys = pc.if_else(pc.is_valid(found), keys, pa.scalar(None, pa.string()))
        columns = {"key": keys, "value": records["value"], "emitted": records["timestamp"]}
        return pa.table(columns, schema=OUTPUTS)

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return which sums are those of the records in time and any of the late ones."""
        pairs = zip(expected["value"].to_pylist(), outputs["value"].to_pylist(), strict=True)
        return np.array([_same(mine, theirs) for mine, theirs in pairs], dtype=np.bool_)

    def event_times(self, expected: pa.Table) -> pa.Array:
        """Return the greatest event time of each sum's records."""
        (event,) = numbers(expected["value"], r"\|(?P<event>\d+)\|")
        return pa.array(event)

    def ingestion_times(self, outputs: pa.Table) -> pa.Array:
        """Return the last number of each output that has it."""
        return last_number(outputs["value"], _OUTPUT)

    def lenient(self, expected: pa.Table) -> int:
        """Count the sums with late records."""
        without = pc.ends_with(pc.cast(expected["value"], pa.string()), "|")
        return len(expected) - int(pc.sum(without).as_py() or 0)


def last_number(values: pa.ChunkedArray, pattern: str) -> pa.Array:
    """Return what a pattern finds as `ingested`, null where it is not there."""
    found = pc.struct_field(pc.extract_regex(values, pattern=pattern), "ingested")
    text = pc.cast(found, pa.string())
    said = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    return pc.cast(said, pa.int64())


def _in_windows(table: pa.Table, parameters: Parameters) -> pa.Table:
    """Repeat each row for every window in which its slice lies."""
    at = table["at"].to_numpy()
    rows, start = windows(at, at, parameters.size_ms, parameters.slide_ms)
    return table.drop_columns(["at"]).take(pa.array(rows)).append_column("start", pa.array(start))


def _sums(table: pa.Table, by: str) -> pa.Table:
    """Sum up the prices by pack and a time, and keep the latest of their times."""
    latest = _CONTRIBUTION[2:]
    summed = table.group_by([by, "pack"]).aggregate(
        [("price", "sum"), *((name, "max") for name in latest)]
    )
    return summed.rename_columns([by, "pack", "price", *latest])


def _partial_rows(table: pa.Table, size_ms: int, *, late: bool) -> pa.Table:
    value = joined(table["price"].combine_chunks(), table["event"].combine_chunks())
    return pa.table(
        {
            "key": joined(table["start"].combine_chunks(), table["pack"].combine_chunks()),
            "value": pc.cast(value, pa.binary()),
            "intended": table["intended"],
            "appended": table["appended"],
            "window_end": pc.add(table["start"], size_ms),
            "optional": np.full(len(table), late),
        },
        schema=EXPECTED,
    )


def _summed(rows: pa.Table) -> pa.Table:
    summed = rows.group_by("key").aggregate([("price", "sum"), *((t, "max") for t in _TIMES)])
    return summed.rename_columns(["key", "price", *_TIMES])


def _values(total: pa.Table, late: pa.Table) -> pa.Array:
    prices: dict[str, list[int]] = defaultdict(list)
    for key, price in zip(late["key"].to_pylist(), late["price"].to_pylist(), strict=True):
        prices[key].append(price)
    names = ("key", "price", "event")
    rows = zip(*(total[name].to_pylist() for name in names), strict=True)
    values = [
        f"{key},{price}|{event}|{','.join(map(str, prices.get(key, ())))}".encode()
        for key, price, event in rows
    ]
    return pa.array(values, pa.binary())


def _same(expected: bytes, output: bytes) -> bool:
    value, _, late = expected.split(b"|")
    mine, theirs = value.split(b","), output.split(b",")
    if theirs[:3] == mine:
        return True
    return theirs[:2] == mine[:2] and can_add_up(
        int(theirs[2]) - int(mine[2]), [int(price) for price in late.split(b",") if price]
    )


def can_add_up(total: int, prices: Sequence[int]) -> bool:
    """Return whether some of the prices add up to this total.

    Of many prices a few make almost any amount, so the others can be taken one by one up to it.
    Otherwise all sums up to the total, or to what the rest has to make, are tried.
    """
    if not 0 <= total <= sum(prices):
        return False
    few, others = prices[:_FEW], prices[_FEW:]
    left, middle = total, sum(few) // 2
    for price in others:
        left -= price if left - price >= middle else 0
    return _makes(left, few) or _makes(min(total, sum(prices) - total), prices)


def _makes(total: int, prices: Sequence[int]) -> bool:
    """Return whether some of the prices add up to this total, by all their sums up to it."""
    within = (1 << total + 1) - 1
    reachable = 1  # bit n is set iff some of the prices make n
    for price in prices:
        reachable |= reachable << price & within
    return bool(reachable >> total & 1)
