"""Windows by the method that a job asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamgauge.engines.spark.query import QueryContext
from streamgauge.engines.spark.windows.aggregate import Aggregate, Combine
from streamgauge.engines.spark.windows.pairs import in_pairs
from streamgauge.engines.spark.windows.sliding import in_sliding
from streamgauge.measure.window_methods import METHOD, Hopping

Method = Callable[[DataFrame, Sequence[str], Aggregate, Hopping], DataFrame]

_OF_RECORDS: Mapping[Combine, Callable[[str], Column]] = {
    "sum": F.sum,
    "min": F.min,
    "max": F.max,
    "list": F.collect_list,
}


def windowed(
    rows: DataFrame,
    keys: Sequence[str],
    aggregate: Aggregate,
    windows: Hopping,
    context: QueryContext,
) -> DataFrame:
    """Summarize each window of each key when it is over.

    Args:
        rows: With the event time, under its watermark, in the column `time`.
        keys: Columns that identify a key.
        aggregate: What is summarized.
        windows: Which windows there are.
        context: Names the method.

    Returns:
        The beginning of the window in milliseconds as `start`, the keys, and the aggregate.
    """
    method = _METHODS[context.option(METHOD)]
    found = method(lifted(rows, keys, aggregate), keys, aggregate, windows)
    return lowered(found, ("start", *keys), aggregate)


def before_each(
    rows: DataFrame, keys: Sequence[str], aggregate: Aggregate, length_ms: int
) -> DataFrame:
    """Summarize the records of each record's key in the time before it, when no more can come.

    Args:
        rows: With the event time, under its watermark, in the column `time`, and a number `id`.
        keys: Columns that identify a key.
        aggregate: What is summarized.
        length_ms: Of that time, both ends included.

    Returns:
        The record's time in milliseconds as `at`, its number, the keys, and the aggregate.
    """
    found = in_sliding(lifted(rows, ("id", *keys), aggregate), keys, aggregate, length_ms)
    return lowered(found, ("at", "id", *keys), aggregate)


def lifted(rows: DataFrame, columns: Sequence[str], aggregate: Aggregate) -> DataFrame:
    """Return the time, some columns and the parts of each record."""
    parts = (F.expr(part.lift).alias(part.name) for part in aggregate.parts)
    return rows.select("time", *columns, *parts)


def lowered(found: DataFrame, columns: Sequence[str], aggregate: Aggregate) -> DataFrame:
    """Return some columns, and the results computed from the parts."""
    results = (F.expr(sql).alias(name) for name, sql in aggregate.lower.items())
    return found.select(*columns, *results)


def in_buckets(
    rows: DataFrame, keys: Sequence[str], aggregate: Aggregate, windows: Hopping
) -> DataFrame:
    """Add each record to every window that it is in, as Spark does by default."""
    return _started(_grouped(rows, _hops("time", windows), keys, aggregate, of_slices=False))


def in_slices(
    rows: DataFrame, keys: Sequence[str], aggregate: Aggregate, windows: Hopping
) -> DataFrame:
    """Summarize slices first, and then each window from the slices in it."""
    piece = F.window("time", _ms(windows.piece_ms))
    slices = _grouped(rows, piece, keys, aggregate, of_slices=False)
    hops = _hops(F.window_time("window"), windows)
    return _started(_grouped(slices, hops, keys, aggregate, of_slices=True))


def _grouped(
    rows: DataFrame, window: Column, keys: Sequence[str], aggregate: Aggregate, *, of_slices: bool
) -> DataFrame:
    columns = []
    for part in aggregate.parts:
        combined = _OF_RECORDS[part.combine](part.name)
        flat = F.flatten(combined) if of_slices and part.combine == "list" else combined
        columns.append(flat.alias(part.name))
    return rows.groupBy(window.alias("window"), *keys).agg(*columns)


def _started(found: DataFrame) -> DataFrame:
    return found.select(F.unix_millis("window.start").alias("start"), "*")


def _hops(time: Column | str, windows: Hopping) -> Column:
    return F.window(time, _ms(windows.size_ms), _ms(windows.slide_ms))


def _ms(duration_ms: int) -> str:
    return f"{duration_ms} milliseconds"


_METHODS: Mapping[str, Method] = {"bucket": in_buckets, "slices": in_slices, "pairs": in_pairs}
