"""The expected counts, computed from the recorded events.

Plain NumPy and Arrow, shared with no engine. The campaign of an ad is known from the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.messages import Integers, integers, refuse_json
from streamgauge.spec.answers import AnswerContext
from streamgauge.workloads.ysb import counts, data
from streamgauge.workloads.ysb.parameters import WINDOW_MS, Parameters

Booleans = npt.NDArray[np.bool_]

CLOCKS_APART_MS = 5
"""In a valid trial clocks differ by less than this."""
# RE2 has a fast path for at most four groups.
_EVENT = (
    r'^\{"id":\d+,"intended":(?P<intended>\d+),"user_id":"[^"]*","page_id":"[^"]*",'
    r'"ad_id":"(?P<ad>[^"]*)","ad_type":"[^"]*","event_type":"(?P<type>[^"]*)",'
    r'"event_time":"(?P<time>\d{1,18})","ip_address":"[^"]*"\}$'
)
_AFTER = b"after "
"""Begins the partial value of a partition's view in the next window."""
_LATEST = ("last", "intended", "appended", "window_end")


@dataclass(frozen=True)
class Views:
    """Views by campaign and window: `START,CAMPAIGN,seen_count,last_event_time,[latency]`.

    An expected value is `seen_count,last_event_time,late_count,last_late_event_time`: what came in
    time, and what came so late that it may be counted or not.
    """

    aligned: ClassVar[int] = 1
    merges: ClassVar[bool] = True

    def expected(self, records: pa.Table, context: AnswerContext) -> pa.Table:
        """Return the counts of these events, those that came too late in rows of their own."""
        parameters = Parameters.model_validate(context.parameters)
        views = _views(records, parameters, context.seed)
        names = pa.array(data.campaigns(parameters.campaigns, context.seed)).cast(pa.string())
        late = views["late"]
        found = [
            _counted(views.filter(pc.invert(late)), names, late=False),
            _counted(views.filter(late), names, late=True),
        ]
        if context.closed_by and len(records):
            found.append(_closings(views, names, records["partition"][0].as_py()))
        return pa.concat_tables(found)

    def merge(self, partials: pa.Table, context: AnswerContext) -> pa.Table:
        """Return one row per window and campaign; optional where all events came too late.

        Where views close windows, a window without a view in the next one stays open, and is not
        compared; one that has views there, but not in every partition, may be missing.
        """
        marks = pc.starts_with(partials["value"], _AFTER)
        found = self._merged(partials.filter(pc.invert(marks)))
        if not context.closed_by:
            return found
        return _with_closings(found, partials.filter(marks), context.closed_by)

    def _merged(self, partials: pa.Table) -> pa.Table:
        seen, last = _numbers(partials["value"])
        rows = partials.append_column("seen", pa.array(seen)).append_column("last", pa.array(last))
        late = _summed(rows.filter(rows["optional"]))
        in_time = _summed(rows.filter(pc.invert(rows["optional"])))
        alone = late.filter(pc.invert(pc.is_in(late["key"], in_time["key"].combine_chunks())))
        zeros = pa.array(np.zeros(len(alone), dtype=np.int64))
        place = alone.schema.get_field_index("seen")
        total = pa.concat_tables([in_time, alone.set_column(place, "seen", zeros)])
        optional = np.repeat([False, True], [len(in_time), len(alone)])
        columns = {name: total[name] for name in ("key", "intended", "appended", "window_end")}
        columns |= {"value": _values(total, late), "optional": optional}
        return pa.table({name: columns[name] for name in EXPECTED.names}, schema=EXPECTED)

    def outputs(self, records: pa.Table) -> pa.Table:
        """Return the outputs with window and campaign as key."""
        found = pc.extract_regex(records["value"].combine_chunks(), pattern=counts.LINE)
        keys = counts.texts(found, "key")
        columns = {"key": keys, "value": records["value"], "emitted": records["timestamp"]}
        return pa.table(columns, schema=OUTPUTS)

    def table_outputs(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Return the counts in Redis; the parts of workers are added up."""
        return counts.in_redis(tables["windows"])

    def agree(self, expected: pa.Table, outputs: pa.Table) -> Booleans:
        """Return which counts are those of the events in time and any of the late ones."""
        theirs = pc.extract_regex(outputs["value"].combine_chunks(), pattern=counts.LINE)
        seen, last = (
            pc.fill_null(pc.cast(counts.texts(theirs, name), pa.int64()), -1).to_numpy()
            for name in ("seen", "last")
        )
        sure, sure_last, late, late_last = _numbers(expected["value"], 4)
        in_time = outputs["emitted"].to_numpy() + CLOCKS_APART_MS >= expected["appended"].to_numpy()
        right = (seen >= np.maximum(sure, 1)) & (seen <= sure + late)
        times = (last == sure_last) | ((seen > sure) & (last > sure_last) & (last <= late_last))
        return np.asarray(in_time & right & times, dtype=np.bool_)

    def event_times(self, expected: pa.Table) -> pa.Array:
        """Return the time of the last event that was counted for sure."""
        return pa.array(_numbers(expected["value"], 4)[1])

    def ingestion_times(self, outputs: pa.Table) -> pa.Array:
        """Return when, on average, an event of the last one's time reached the window."""
        found = pc.extract_regex(outputs["value"].combine_chunks(), pattern=counts.LINE)
        before = pc.cast(counts.texts(found, "before"), pa.float64())
        return pc.add(
            pc.cast(counts.texts(found, "last"), pa.int64()), pc.cast(pc.round(before), pa.int64())
        )

    def lenient(self, expected: pa.Table) -> int:
        """Count the windows of campaigns that have late events."""
        return int(np.count_nonzero(_numbers(pc.drop_null(expected["value"]), 4)[2]))


def _views(records: pa.Table, parameters: Parameters, seed: int) -> pa.Table:
    """Return the views of known ads: whose they are, their times, and whether they are too late."""
    values = records["value"].combine_chunks()
    found = pc.extract_regex(values, pattern=_EVENT)
    refuse_json(values.filter(pc.is_null(found)), "it is JSON, but not an event")
    known = pa.array(data.ads(parameters.campaigns, seed))
    ad = pc.index_in(pc.struct_field(found, "ad"), value_set=known)
    is_view = pc.equal(pc.struct_field(found, "type"), data.VIEW)
    chosen = pc.and_(pc.and_(pc.is_valid(found), is_view), pc.is_valid(ad))
    found, values, rows = found.filter(chosen), values.filter(chosen), records.filter(chosen)
    event, intended = (integers(pc.struct_field(found, n), values, n) for n in ("time", "intended"))
    reached = _reached(rows["partition"].to_numpy(), intended)
    return pa.table(
        {
            "campaign": ad.filter(chosen).to_numpy() // data.ADS_PER_CAMPAIGN,
            "window": event - event % WINDOW_MS,
            "last": event,
            "intended": intended,
            "appended": rows["timestamp"],
            # An event time may be ahead of the intended time by half of what is allowed.
            "late": reached - event > parameters.allowed_delay_ms // 2,
        }
    )


def _reached(partition: npt.NDArray[np.int32], intended: Integers) -> Integers:
    """Return how far the sender had come in each event's partition."""
    reached = np.empty_like(intended)
    for each in np.unique(partition):
        here = partition == each
        reached[here] = np.maximum.accumulate(intended[here])
    return reached


def _counted(views: pa.Table, names: pa.Array, *, late: bool) -> pa.Table:
    """Count views by window and campaign."""
    found = views.group_by(["window", "campaign"]).aggregate(
        [("last", "count"), *((name, "max") for name in ("last", "intended", "appended"))]
    )
    campaign = names.take(found["campaign"].combine_chunks())
    return pa.table(
        {
            "key": counts.joined(found["window"], campaign),
            "value": pc.cast(counts.joined(found["last_count"], found["last_max"]), pa.binary()),
            "intended": found["intended_max"],
            "appended": found["appended_max"],
            "window_end": pc.add(found["window"], WINDOW_MS),
            "optional": np.full(len(found), late),
        },
        schema=EXPECTED,
    )


def _closings(views: pa.Table, names: pa.Array, partition: int) -> pa.Table:
    """Return for the window before each view when this partition's first view closes it."""
    firsts = views.group_by(["window", "campaign"]).aggregate(
        [("intended", "min"), ("appended", "min")]
    )
    before = pc.subtract(firsts["window"], WINDOW_MS)
    return pa.table(
        {
            "key": counts.joined(before, names.take(firsts["campaign"].combine_chunks())),
            "value": pa.array([_AFTER + b"%d" % partition] * len(firsts), pa.binary()),
            "intended": firsts["intended_min"],
            "appended": firsts["appended_min"],
            "window_end": firsts["window"],
            "optional": np.zeros(len(firsts), dtype=np.bool_),
        },
        schema=EXPECTED,
    )


def _with_closings(found: pa.Table, marks: pa.Table, partitions: int) -> pa.Table:
    """Let counts wait for the last partition's view in the next window, as for their own."""
    firsts = marks.group_by(["key", "value"]).aggregate([("intended", "min"), ("appended", "min")])
    closings = firsts.group_by("key").aggregate(
        [("intended_min", "max"), ("appended_min", "max"), ("value", "count")]
    )
    place = pc.index_in(found["key"], value_set=closings["key"].combine_chunks())
    closing = closings.take(place.combine_chunks())
    by = pc.fill_null(closing["value_count"], 0)
    columns = {name: found[name] for name in found.column_names}
    for name in ("intended", "appended"):
        columns[name] = pc.max_element_wise(found[name], closing[f"{name}_min_max"])
    columns["optional"] = pc.or_(found["optional"], pc.less(by, partitions))
    nothing = pa.scalar(None, pa.binary())
    columns["value"] = pc.if_else(pc.equal(by, 0), nothing, found["value"])
    return pa.table(columns, schema=EXPECTED)


def _summed(rows: pa.Table) -> pa.Table:
    summed = rows.group_by("key").aggregate([("seen", "sum"), *((n, "max") for n in _LATEST)])
    return summed.rename_columns(["key", "seen", *_LATEST])


def _values(total: pa.Table, late: pa.Table) -> pa.Array:
    place = pc.index_in(total["key"], value_set=late["key"].combine_chunks())
    columns = [
        pc.fill_null(late[name].combine_chunks().take(place.combine_chunks()), 0)
        for name in ("seen", "last")
    ]
    return pc.cast(counts.joined(total["seen"], total["last"], *columns), pa.binary())


def _numbers(cells: pa.ChunkedArray, count: int = 2) -> list[Integers]:
    """Read the numbers that stand in each of our own values."""
    parts = pc.split_pattern(pc.cast(cells, pa.string()), ",")
    return [
        np.asarray(pc.cast(pc.list_element(parts, at), pa.int64()), dtype=np.int64)
        for at in range(count)
    ]
