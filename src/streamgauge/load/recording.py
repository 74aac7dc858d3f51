"""Arrival times of a recording, from a Parquet or CSV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from streamgauge.errors import UsageError

COLUMN = "time"
_NS = 1_000_000_000
_LONGEST_NS = 2**62
"""Far below the limit of 64 bits."""
_REMEDY = (
    f"give a .parquet or .csv file with a column `{COLUMN}`, or a single column of time stamps,"
    " in ascending order; numbers are seconds"
)


def read_arrivals(path: Path, speed: float = 1.0) -> npt.NDArray[np.int64]:
    """Read the times of a recording in whole milliseconds after the first.

    Args:
        path: The file.
        speed: How many times as fast as recorded.

    Raises:
        UsageError: The file has no times, or they are not in order.
    """
    try:
        times = _nanoseconds(path, _column(path))
    except (OSError, pa.ArrowInvalid) as error:
        reason = (getattr(error, "strerror", None) or str(error)).partition("\n")[0]
        raise UsageError(f"cannot read the recording {path}: {reason}", _REMEDY) from error
    if len(times) < 2:
        raise UsageError(f"the recording {path} has {len(times)} times", "at least 2 are needed")
    backward = np.flatnonzero(times[1:] < times[:-1])
    if len(backward):
        raise UsageError(
            f"the recording {path} goes backward: row {backward[0] + 2} is earlier than the row"
            " before it",
            "sort it by time",
        )
    if (float(times[-1]) - float(times[0])) / speed > _LONGEST_NS:
        raise UsageError(f"the recording {path} lasts too long to be counted", "Shorten it.")
    return np.asarray((times - times[0]) / speed // 1_000_000, dtype=np.int64)


def _column(path: Path) -> pa.ChunkedArray:
    """Read the column with the times."""
    if path.suffix == ".parquet":
        schema = pq.read_schema(path)
        return pq.read_table(path, columns=[_name(path, schema)]).column(0)
    if path.suffix == ".csv":
        with pa_csv.open_csv(path) as reader:
            name = _name(path, reader.schema)
        options = pa_csv.ConvertOptions(include_columns=[name])
        return pa_csv.read_csv(path, convert_options=options).column(0)
    raise UsageError(f"the recording {path} is neither .parquet nor .csv", _REMEDY)


def _name(path: Path, schema: pa.Schema) -> str:
    if COLUMN in schema.names:
        return COLUMN
    stamps = [str(field.name) for field in schema if pa.types.is_timestamp(field.type)]
    if len(stamps) != 1:
        found = ", ".join(schema.names)
        raise UsageError(f"the recording {path} has no column `{COLUMN}` among: {found}", _REMEDY)
    return stamps[0]


def _nanoseconds(path: Path, column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    if column.null_count:
        raise UsageError(f"the recording {path} has {column.null_count} rows without a time")
    if pa.types.is_timestamp(column.type):
        stamps = pc.cast(column, pa.timestamp("ns", column.type.tz))
        return np.asarray(pc.cast(stamps, pa.int64()).to_numpy(), dtype=np.int64)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise UsageError(f"the column `{COLUMN}` of {path} holds no times", _REMEDY)
    seconds = column.to_numpy()
    if not np.all(np.isfinite(seconds)) or np.abs(seconds).max(initial=0) > _LONGEST_NS / _NS:
        raise UsageError(f"the column `{COLUMN}` of {path} holds times out of range", _REMEDY)
    if pa.types.is_integer(column.type):
        return np.asarray(seconds, dtype=np.int64) * _NS
    return np.asarray(np.rint(seconds * _NS), dtype=np.int64)
