"""Both queries on Spark: read, parse, filter, project, look up, enrich, count by window.

Spark's Python workers ask and write Redis, for some thousand events at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType

from streamgauge.engines.spark.closing import AFTER, closed_by_records
from streamgauge.engines.spark.query import BatchWriter, Build, Dropped, QueryContext, Streams
from streamgauge.garbage import keep_imports
from streamgauge.services.redis import RedisEndpoint
from streamgauge.workloads.ysb.ads import Ads, store
from streamgauge.workloads.ysb.parameters import WINDOW_MS, Parameters
from streamgauge.workloads.ysb.partial_windows import PartialWindows

EVENT = "ad_id string, event_type string, event_time string"
"""What is read of an event."""

_NOW_MS = "cast(reflect('java.lang.System', 'currentTimeMillis') as bigint)"
"""The time at which an event reaches its window; current_timestamp() is one per batch."""


def to_topic(streams: Streams, context: QueryContext) -> DataFrame:
    """Emit each count as a line."""
    events = streams["events"]
    counts = _closed_by_views if context.job.closed_by_records else _counts
    fields = [F.col(name).cast("string") for name in ("start", "campaign", "seen", "last")]
    line = F.concat_ws(",", *fields, F.format_string("%.3f", "before"))
    return counts(events, context).select(line.alias("value"))


def to_redis(streams: Streams, context: QueryContext) -> BatchWriter | Dropped:
    """Write each count to Redis; a repeated batch changes nothing.

    Continuous processing knows neither joins nor windows: there each task counts what it sees.
    """
    redis = _redis(context)
    if context.job.mode == "continuous":
        views = _views(streams["events"], "partition", "offset")
        return Dropped(views.select(_counter(context)("ad_id", "time_ms", "partition", "offset")))

    def write(batch: DataFrame, number: int) -> None:
        batch.mapInArrow(_writer(redis, f"batch-{number}"), "written int").collect()

    return BatchWriter(_counts(streams["events"], context), write)


def _counts(events: DataFrame, context: QueryContext) -> DataFrame:
    """Count the views of each campaign in each window."""
    parameters = _parameters(context)
    delay_ms = parameters.allowed_delay_ms + context.job.watermark_delay_ms
    views = (
        _views(events)
        .withColumn("time", F.timestamp_millis("time_ms"))
        .withWatermark("time", _ms(delay_ms))
        .select(_campaign(context)("ad_id").alias("campaign"), "time_ms", "time")
        .where(F.col("campaign").isNotNull())
        .select("campaign", "time_ms", "time", F.expr(_NOW_MS).alias("now_ms"))
    )
    summary = (
        F.count("*").alias("seen"),
        F.max("time_ms").alias("last"),
        F.avg(F.col("now_ms") - F.col("time_ms")).alias("before"),
    )
    return _told(views.groupBy(F.window("time", _ms(WINDOW_MS)), "campaign").agg(*summary))


def _told(counts: DataFrame) -> DataFrame:
    """Return of each count its window's start, campaign and what was counted."""
    start = F.unix_millis("window.start").alias("start")
    return counts.select(start, "campaign", "seen", "last", "before")


def _closed_by_views(events: DataFrame, context: QueryContext) -> DataFrame:
    """Count the same, where a campaign's next view in every partition closes its window.

    There the ads are read once, when the query starts: real-time mode runs no Python.
    """
    now_ms, time_ms = F.expr(_NOW_MS).alias("now_ms"), F.col("time_ms")
    rows = [(ad.decode(), of.decode()) for ad, of in store(_redis(context)).ads().items()]
    ads = context.spark.createDataFrame(rows, "ad_id string, campaign string")
    views = (
        _views(events, "partition")
        .withColumn("time", F.timestamp_millis("time_ms"))
        .withWatermark("time", _ms(context.job.watermark_delay_ms))
        .join(F.broadcast(ads), "ad_id")
        .select("campaign", "partition", "time", "time_ms", now_ms)
        .select("*", F.window("time", _ms(2 * WINDOW_MS), _ms(WINDOW_MS)))
    )
    within = F.col("time") < F.col("window.start") + F.expr(f"interval {_ms(WINDOW_MS)}")
    halves = views.select(
        "window",
        "campaign",
        F.when(within, time_ms).alias("time_ms"),
        F.when(within, F.col("now_ms") - time_ms).alias("latency_ms"),
        F.when(~within, F.col("partition")).alias(AFTER),
    )
    summary = (
        F.count("time_ms").alias("seen"),
        F.max("time_ms").alias("last"),
        F.avg("latency_ms").alias("before"),
    )
    by, partitions = ["window", "campaign"], context.job.partitions
    return _told(closed_by_records(halves, by, summary, partitions))


def _views(events: DataFrame, *more: str) -> DataFrame:
    """Parse the events, keep the views, and of these the ad, the time and other wanted fields."""
    event = F.from_json(F.col("value").cast("string"), EVENT).alias("event")
    return (
        events.select(event, *more)
        .where(F.col("event.event_type") == "view")
        .select("event.ad_id", F.col("event.event_time").cast("long").alias("time_ms"), *more)
    )


def _campaign(context: QueryContext) -> Callable[[str], Column]:
    """Return what looks up the campaigns of a column of ads."""
    ads = _ads(context)

    def campaigns(column: pa.Array) -> pa.Array:
        found = ads.campaigns(column)
        keep_imports()
        return found

    # PySpark takes the kind of function from its hints and warns if given; its stubs want it.
    looked_up = F.arrow_udf(campaigns, StringType())  # type: ignore[call-overload]
    # Otherwise Spark asks twice, and drops unknown ads before it has seen their times.
    return cast("Callable[[str], Column]", looked_up.asNondeterministic())


def _counter(context: QueryContext) -> Callable[..., Column]:
    """Return what counts views while they pass."""
    windows = PartialWindows(_ads(context))

    def count(ad: pa.Array, time: pa.Array, partition: pa.Array, offset: pa.Array) -> pa.Array:
        keep_imports()
        return windows.count(ad, time, partition, offset)

    counted = F.arrow_udf(count, LongType())  # type: ignore[call-overload]
    return cast("Callable[..., Column]", counted.asNondeterministic())


def _writer(
    redis: RedisEndpoint, part: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what writes the counts of a task."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = (column.to_pylist() for column in batch.columns)
            store(redis).write(part, zip(*columns, strict=True))
        keep_imports()
        return iter(())

    return write


def _ms(duration_ms: int) -> str:
    return f"{duration_ms} milliseconds"


def _parameters(context: QueryContext) -> Parameters:
    return Parameters.model_validate(context.job.parameters)


def _ads(context: QueryContext) -> Ads:
    return Ads(_redis(context), remembers=_parameters(context).cache)


def _redis(context: QueryContext) -> RedisEndpoint:
    return RedisEndpoint.of(context.services["redis"])


QUERIES: Mapping[str, Build] = {"redis": to_redis, "topic": to_topic}
