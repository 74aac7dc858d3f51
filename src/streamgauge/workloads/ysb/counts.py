"""How counts are written: as lines of a topic, and in Redis."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.columns import OUTPUTS
from streamgauge.workloads.ysb.store import READ_MS

_NUMBER, _MEAN = r"\d{1,18}", r"-?\d{1,15}(?:\.\d{1,9})?"
LINE = (
    rf"^(?P<key>{_NUMBER},[^,/]+),(?P<seen>{_NUMBER}),(?P<last>{_NUMBER}),(?P<before>(?:{_MEAN})?)$"
)
"""An output in a topic."""
_COUNTED = r"^(?P<campaign>[^,/]+)/(?P<part>batch-\d+|worker-\d+-\d+)$"
_VALUE = rf"^(?P<seen>{_NUMBER}),(?P<last>{_NUMBER}),(?P<before>(?:{_MEAN})?),(?P<at>{_NUMBER})$"


def in_redis(rows: pa.Table) -> pa.Table:
    """Return the counts in Redis as outputs, as lines; the parts of workers are added up."""
    read_ms = int((rows.schema.metadata or {})[READ_MS])
    counted = pc.extract_regex(rows["counted"].combine_chunks(), pattern=_COUNTED)
    values = pc.extract_regex(rows["value"].combine_chunks(), pattern=_VALUE)
    right = pc.and_(pc.is_valid(counted), pc.is_valid(values))
    read = _read(rows.filter(right), counted.filter(right), values.filter(right))
    return pa.concat_tables(
        [_lines(_whole(read), read_ms), _unreadable(rows.filter(pc.invert(right)))]
    )


def _whole(read: pa.Table) -> pa.Table:
    """Add up what workers counted; every other count stands for itself."""
    weights = pc.multiply(read["seen"], read["before"])
    read = read.set_column(read.schema.get_field_index("before"), "before", weights)
    workers = (
        read.filter(read["worker"])
        .group_by("key")
        .aggregate([("seen", "sum"), ("last", "max"), ("before", "sum"), ("at", "max")])
    )
    workers = workers.rename_columns(["key", "seen", "last", "before", "at"])
    whole = read.filter(pc.invert(read["worker"])).select(workers.column_names)
    whole = pa.concat_tables([whole, workers.cast(whole.schema)])
    means = pc.divide(whole["before"], pc.cast(pc.max_element_wise(whole["seen"], 1), pa.float64()))
    return whole.set_column(whole.schema.get_field_index("before"), "before", means)


def _read(rows: pa.Table, counted: pa.Array, values: pa.Array) -> pa.Table:
    """Read the parts of counts into columns."""
    part = pc.struct_field(counted, "part")
    return pa.table(
        {
            "key": joined(rows["window"], pc.struct_field(counted, "campaign")),
            "worker": pc.starts_with(part, "worker"),
            **{
                name: pc.cast(pc.struct_field(values, name), pa.int64())
                for name in ("seen", "last", "at")
            },
            "before": pc.cast(texts(values, "before"), pa.float64()),
        }
    )


def _lines(whole: pa.Table, read_ms: int) -> pa.Table:
    """Write counts as a topic would have them; a clock cannot have shown a time to come."""
    before = pa.array(
        ["" if mean is None else f"{mean:.3f}" for mean in whole["before"].to_pylist()]
    )
    lines = pc.cast(joined(whole["key"], whole["seen"], whole["last"], before), pa.binary())
    value = pc.if_else(pc.greater(whole["at"], read_ms), b"a time that was still to come", lines)
    return pa.table({"key": whole["key"], "value": value, "emitted": whole["at"]}, schema=OUTPUTS)


def _unreadable(rows: pa.Table) -> pa.Table:
    """Return what should not have been written."""
    text = joined(rows["window"], rows["counted"], rows["value"])
    columns = {
        "key": pa.nulls(len(rows), pa.string()),
        "value": pc.cast(text, pa.binary()),
        "emitted": np.zeros(len(rows), dtype=np.int64),
    }
    return pa.table(columns, schema=OUTPUTS)


def joined(*columns: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Write the cells of each row, separated by commas."""
    return pc.binary_join_element_wise(*(pc.cast(each, pa.string()) for each in columns), ",")


def texts(found: pa.Array, name: str) -> pa.Array:
    """Return a group of a pattern; null where the pattern was not found, or the group is empty."""
    text = pc.cast(pc.struct_field(found, name), pa.string())
    there = pc.and_(pc.is_valid(found), pc.not_equal(text, ""))
    return pc.if_else(there, text, pa.scalar(None, pa.string()))
