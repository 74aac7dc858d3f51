"""Read records, many at once, and pass numbers on in one cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.workloads.theodolite.data import STEPS

Integers = npt.NDArray[np.int64]

# RE2 has a fast path for at most four groups.
_RECORD = (
    r'^\{"id":(?P<id>\d+),"intended":\d+,"identifier":"(?P<identifier>s_(?:marker_)?\d+)",'
    r'"timestamp":(?P<timestamp>\d{1,15}),"valueInW":(?P<value>\d+(?:\.\d+)?)\}$'
)
NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
"""A number as engines print it."""


def readings(records: pa.Table) -> pa.Table:
    """Return the records that can be read: id, identifier, timestamp, steps and their place.

    `steps` are quarters of a watt, `written` is the power as it was sent. Records that are not
    readings are left out, such as sentinels and the hierarchy.
    """
    found = pc.extract_regex(records["value"].combine_chunks(), pattern=_RECORD)
    good = pc.is_valid(found)
    found, rows = found.filter(good), records.filter(good)
    text = {name: pc.cast(found.field(i), pa.string()) for i, name in enumerate(_GROUPS)}
    watts = pc.cast(text["value"], pa.float64()).to_numpy()
    return pa.table(
        {
            "id": text["id"],
            "identifier": text["identifier"],
            "timestamp": pc.cast(text["timestamp"], pa.int64()),
            "steps": np.round(watts * STEPS).astype(np.int64),
            "written": text["value"],
            "partition": rows["partition"].cast(pa.int64()),
            "offset": rows["offset"],
            "appended": rows["timestamp"],
        }
    )


_GROUPS = ("id", "identifier", "timestamp", "value")


def packed(columns: Sequence[Integers]) -> pa.Array:
    """Put the numbers of each row into one cell."""
    cells = np.ascontiguousarray(np.stack(columns, axis=1), dtype="<i8")
    width = pa.binary(8 * len(columns))
    buffers = [None, pa.py_buffer(cells.tobytes())]
    return pa.Array.from_buffers(width, len(cells), buffers).cast(pa.binary())


def unpacked(cells: pa.ChunkedArray, columns: int) -> list[Integers]:
    """Read the numbers of each row back."""
    values = b"".join(cells.to_pylist()) if len(cells) else b""
    table = np.frombuffer(values, dtype="<i8").reshape(-1, columns)
    return [np.ascontiguousarray(table[:, column]) for column in range(columns)]


def lines_like(values: pa.ChunkedArray, pattern: str) -> pa.Array:
    """Return as text what matches a pattern; null for the rest, which may not be text at all."""
    raw = values.combine_chunks()
    fits = pc.fill_null(pc.match_substring_regex(raw, pattern), False)
    return pc.cast(pc.if_else(fits, raw, pa.scalar(None, pa.binary())), pa.string())


def numbers(lines: pa.ChunkedArray, last: int) -> list[npt.NDArray[np.float64]]:
    """Read that many numbers at the end of each line, which must have them."""
    parts = pc.split_pattern(pc.cast(lines.combine_chunks(), pa.string()), ",")
    starts = parts.offsets.to_numpy()
    values, ends = parts.values, starts[1:]
    return [
        pc.cast(values.take(ends - last + place), pa.float64()).to_numpy() for place in range(last)
    ]


def texts(*columns: pa.Array | pa.ChunkedArray | npt.NDArray[np.generic]) -> pa.Array:
    """Write columns of texts and numbers one after the other, separated by commas."""
    written = [pc.cast(_array(column), pa.string()) for column in columns]
    return pc.binary_join_element_wise(*written, ",")


def _array(column: pa.Array | pa.ChunkedArray | npt.NDArray[np.generic]) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks()
    return pa.array(column) if isinstance(column, np.ndarray) else column
