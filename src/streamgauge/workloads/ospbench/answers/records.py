"""Read recorded inputs: whose they are, when they were measured, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.messages import Integers, headers, refuse_json
from streamgauge.spec.form import JSON
from streamgauge.workloads.ospbench.data import SENTINEL

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# RE2 has a fast path for at most four groups.
_PLACE = (
    r'^\{"id":\d+,"intended":\d+,"measurementId":"(?P<point>[^"]*)","internalId":"(?P<lane>[^"]*)",'
    r'"lat":(?P<latitude>-?\d+\.\d+),"long":(?P<longitude>-?\d+\.\d+),'
)
_VALUE = (
    r',"(?:flow":(?P<flow>\d+),"period":(?P<period>\d+)|speed":(?P<speed>\d+\.\d+)),'
    r'"accuracy":(?P<accuracy>\d+),"timestamp":'
)
_TIME = r'"timestamp":"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)","num_lanes":(?P<lanes>\d+)\}$'


@dataclass(frozen=True)
class Measured:
    """Columns of the records that can be parsed, sentinels left out; times are epoch ms."""

    id: pa.Array
    """As text."""
    point: pa.Array
    lane: pa.Array
    """By its name."""
    latitude: pa.Array
    longitude: pa.Array
    flow: pa.Array
    """As text, empty in records of speed; the same of the others."""
    period: pa.Array
    speed: pa.Array
    accuracy: pa.Array
    lanes: pa.Array
    second: pa.Array
    intended: pa.Array
    appended: pa.Array

    def __len__(self) -> int:
        return len(self.id)

    def where(self, chosen: pa.Array) -> Measured:
        """Return some of them."""
        return Measured(*(getattr(self, field.name).filter(chosen) for field in fields(self)))


def measured(records: pa.Table) -> Measured:
    """Read records of either stream.

    Raises:
        TrialInvalid: The topic holds something that we did not send.
    """
    values = records["value"].combine_chunks()
    found = headers(values, JSON)
    place, value, time = (
        pc.extract_regex(values, pattern=pattern) for pattern in (_PLACE, _VALUE, _TIME)
    )
    right = pc.and_(pc.and_(pc.is_valid(place), pc.is_valid(value)), pc.is_valid(time))
    refuse_json(values.filter(pc.invert(right)), "it is JSON, but neither flow nor speed")
    point = _text(place, "point")
    read = Measured(
        id=found.keys,
        point=point,
        lane=_text(place, "lane"),
        latitude=_text(place, "latitude"),
        longitude=_text(place, "longitude"),
        flow=_text(value, "flow"),
        period=_text(value, "period"),
        speed=_text(value, "speed"),
        accuracy=_text(value, "accuracy"),
        lanes=_text(time, "lanes"),
        second=milliseconds(_text(time, "time")),
        intended=pa.array(found.intended),
        appended=records["timestamp"].combine_chunks(),
    )
    ours = pc.and_(right, pc.not_equal(point, SENTINEL.decode()))
    return read if pc.all(ours).as_py() is not False else read.where(ours)


def _text(found: pa.Array, name: str) -> pa.Array:
    return pc.cast(pc.struct_field(found, name), pa.string())


def milliseconds(times: pa.Array) -> pa.Array:
    """Read times in UTC as epoch milliseconds; null for empty text."""
    known = pc.if_else(pc.equal(times, ""), pa.scalar(None, pa.string()), times)
    return pc.multiply(pc.cast(pc.cast(known, pa.timestamp("s")), pa.int64()), 1000)


def integers(texts: pa.Array | pa.ChunkedArray) -> Integers:
    """Turn text into whole numbers."""
    return np.asarray(pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)


def floats(texts: pa.Array | pa.ChunkedArray) -> Floats:
    """Turn text into numbers."""
    return np.asarray(pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False), dtype=float)
