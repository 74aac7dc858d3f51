"""A run as Arrow tables: its trials, every single latency, the timeline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.errors import UsageError
from streamgauge.measure import latency
from streamgauge.measure.matching import LATENCIES
from streamgauge.measure.statistics import Floats
from streamgauge.results.factors import factors
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult
from streamgauge.spec.values import Span

_TIMES = pa.schema([field for field in LATENCIES if field.type == pa.int64()])
_TRIALS = pa.schema(
    [
        ("trial", pa.int32()),
        ("workload", pa.string()),
        ("query", pa.string()),
        ("engine", pa.string()),
        ("mode", pa.string()),
        ("rate", pa.float64()),
        ("repeat", pa.int32()),
        ("partitions", pa.int32()),
        ("cores", pa.int32()),
        ("instances", pa.int32()),
        ("instance_cores", pa.int32()),
        ("instance_memory", pa.int64()),
        ("seed", pa.int64()),
        ("duration_s", pa.float64()),
        ("warmup_s", pa.float64()),
        ("quick", pa.bool_()),
        ("started", pa.string()),
        ("status", pa.string()),
        ("valid", pa.bool_()),
        ("correct", pa.bool_()),
        ("kept_up", pa.bool_()),
        ("inputs", pa.int64()),
        *((f"outputs.{name}", pa.int64()) for name in ("expected", "correct", "wrong")),
        *((f"outputs.{name}", pa.int64()) for name in ("missing", "duplicate", "unexpected")),
        ("outputs.intermediate", pa.int64()),
    ]
)
_WHICH = pa.schema(
    [
        ("trial", pa.int32()),
        ("query", pa.dictionary(pa.int32(), pa.string())),
        ("rate", pa.float64()),
        ("repeat", pa.int32()),
    ]
)
_LATENCIES = pa.schema(
    [
        *_WHICH,
        *LATENCIES,
        ("measured", pa.bool_()),
        ("latency", pa.float64()),
        ("event_latency", pa.float64()),
        ("processing_latency", pa.float64()),
        ("window_latency", pa.float64()),
    ]
)


def trials(folder: RunFolder) -> pa.Table:
    """Return a row per finished trial: what was asked for, verdicts, counts, all metrics."""
    results = folder.trials()
    names = sorted({name for result in results for name in result.metrics})
    varied = [name for name in factors(result.spec for result in results) if "." in name]
    more = [*((name, pa.string()) for name in varied), *((name, pa.float64()) for name in names)]
    schema = pa.schema([*_TRIALS, *more])
    return pa.Table.from_pylist([_row(result) for result in results], schema=schema)


def latencies(folder: RunFolder) -> pa.Table:
    """Return a row per output: its times in epoch milliseconds, its latencies in seconds.

    `measured` says which rows the trial's statistics cover: those of the measured span.
    """
    tables = [_latencies(folder, result) for result in folder.trials()]
    return pa.concat_tables([_LATENCIES.empty_table(), *tables]).unify_dictionaries()


def timeline(folder: RunFolder) -> pa.Table:
    """Return a row per second and trial: CPU, memory and disk by role, load, progress."""
    tables = [_WHICH.empty_table()]
    for result in folder.trials():
        sampled = _read(folder.trial_folder(result.spec.number) / "timeline.parquet")
        if sampled is not None:
            tables.append(_marked(result, sampled))
    return pa.concat_tables(tables, promote_options="default").unify_dictionaries()


def measured_seconds(folder: RunFolder, result: TrialResult) -> Floats:
    """Return the latencies that the trial's statistics cover; for windows, from their end."""
    times = _read(folder.trial_folder(result.spec.number) / "latency.parquet", _TIMES)
    if times is None:
        return np.array([])
    values = latency.seconds(times.filter(_measured(result, times)))
    return values["window_latency"] if len(values["window_latency"]) else values["latency"]


def medians_over_time(folder: RunFolder, result: TrialResult, pieces: int) -> tuple[Floats, Floats]:
    """Return the median latency over the measured time, cut into pieces.

    The times are those at which the latest input was due, in seconds from the beginning of the
    measured time, in the middle of a piece; pieces without an output are left out.
    """
    times = _read(folder.trial_folder(result.spec.number) / "latency.parquet", _TIMES)
    if times is None or result.measured_ms is None:
        return np.array([]), np.array([])
    begin_ms, end_ms = result.measured_ms
    counted = times.filter(_measured(result, times))
    windows = counted["window_end"].null_count < len(counted)
    took_ms = latency.passed_ms(counted, "window_latency" if windows else "latency")
    width_s = (end_ms - begin_ms) / 1000 / pieces
    due_s = (counted["intended"].to_numpy() - begin_ms) / 1000
    piece, values_ms = np.floor(due_s / width_s), took_ms.to_numpy()
    order = np.lexsort((values_ms, piece))
    there, first, count = np.unique(piece[order], return_index=True, return_counts=True)
    return (there + 0.5) * width_s, values_ms[order][first + (count - 1) // 2] / 1000


def _row(result: TrialResult) -> dict[str, object]:
    spec = result.spec
    asked = spec.model_dump(include=set(_TRIALS.names))
    counts = {f"outputs.{name}": count for name, count in result.counts.model_dump().items()}
    verdicts = {name: getattr(result, name).holds for name in ("valid", "correct", "kept_up")}
    given = spec.resources.model_dump()
    asked |= given if given["instances"] is not None else {"cores": given["cores"]}
    rest = {"trial": spec.number, "started": result.started, "status": result.status}
    return {
        **spec.factors,
        **asked,
        **rest,
        "inputs": result.inputs,
        **verdicts,
        **counts,
        **result.metrics,
    }


def _latencies(folder: RunFolder, result: TrialResult) -> pa.Table:
    file = folder.trial_folder(result.spec.number) / "latency.parquet"
    table = _read(file, LATENCIES)
    if table is None:
        return _LATENCIES.empty_table()
    columns = {"measured": _measured(result, table)} | {
        name: pc.divide(pc.cast(latency.passed_ms(table, name), pa.float64()), 1000)
        for name in latency.SINCE
    }
    for name, column in columns.items():
        table = table.append_column(name, column)
    return _marked(result, table).cast(_LATENCIES)


def _measured(result: TrialResult, times: pa.Table) -> pa.Array:
    span = Span(*result.measured_ms) if result.measured_ms else Span(0, 0)
    return latency.is_measured(times, span, result.window_ms or 0)


def _marked(result: TrialResult, table: pa.Table) -> pa.Table:
    """Put the trial in front of each of its rows."""
    spec, count = result.spec, len(table)
    values = {
        "trial": pa.repeat(pa.scalar(spec.number, pa.int32()), count),
        "query": pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), [spec.query]),
        "rate": pa.repeat(spec.rate, count),
        "repeat": pa.repeat(pa.scalar(spec.repeat, pa.int32()), count),
    }
    return pa.table({**values, **dict(_columns(table))})


def _columns(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    yield from zip(table.column_names, table.columns, strict=True)


def _read(file: Path, schema: pa.Schema | None = None) -> pa.Table | None:
    """Read a table; None if the trial has none, for example without an output."""
    if not file.exists():
        return None
    try:
        return pq.read_table(file, schema=schema)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{file} is not a readable table: {error}") from None
