"""Both queries on Spark: read, parse, filter, project, look up, enrich, count by window.

Redis is asked and written by Spark's Python workers, for some thousand events at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from streamgauge.engines.spark.query import BatchWriter, Build, QueryContext, RowWriter, Streams
from streamgauge.services.redis import RedisEndpoint
from streamgauge.workloads.ysb.ads import Ads, store
from streamgauge.workloads.ysb.parameters import WINDOW_MS, Parameters
from streamgauge.workloads.ysb.partial_windows import PartialWindows

EVENT = "ad_id string, event_type string, event_time string"
"""What is read of an event."""

_NOW_MS = "cast(reflect('java.lang.System', 'currentTimeMillis') as bigint)"
"""The time at which an event reaches its window; current_timestamp() is one per batch."""


def to_topic(streams: Streams, context: QueryContext) -> DataFrame:
    """Put each count out as a line."""
    fields = [F.col(name).cast("string") for name in ("start", "campaign", "seen", "last")]
    line = F.concat_ws(",", *fields, F.format_string("%.3f", "before"))
    return _counts(streams["events"], context).select(line.alias("value"))


def to_redis(streams: Streams, context: QueryContext) -> BatchWriter | RowWriter:
    """Write each count to Redis; a batch that comes again changes nothing.

    Continuous processing knows neither joins nor windows: there each task counts what it sees.
    """
    redis = _redis(context)
    if context.job.mode == "continuous":
        return RowWriter(_views(streams["events"]), PartialWindows(_ads(context)))

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
        .withWatermark("time", f"{delay_ms} milliseconds")
        .select(_campaign(context)("ad_id").alias("campaign"), "time_ms", "time")
        .where(F.col("campaign").isNotNull())
        .select("campaign", "time_ms", "time", F.expr(_NOW_MS).alias("now_ms"))
    )
    return (
        views.groupBy(F.window("time", f"{WINDOW_MS} milliseconds"), "campaign")
        .agg(
            F.count("*").alias("seen"),
            F.max("time_ms").alias("last"),
            F.avg(F.col("now_ms") - F.col("time_ms")).alias("before"),
        )
        .select(F.unix_millis("window.start").alias("start"), "campaign", "seen", "last", "before")
    )


def _views(events: DataFrame) -> DataFrame:
    """Parse the events, keep the views, and of these the ad and the time."""
    return (
        events.select(F.from_json(F.col("value").cast("string"), EVENT).alias("event"))
        .where(F.col("event.event_type") == "view")
        .select("event.ad_id", F.col("event.event_time").cast("long").alias("time_ms"))
    )


def _campaign(context: QueryContext) -> Callable[[str], Column]:
    """Return what looks up the campaigns of a column of ads."""
    ads = _ads(context)

    def campaigns(column: pa.Array) -> pa.Array:
        return ads.campaigns(column)

    # PySpark takes the kind of function from its hints, and warns when told; its stubs want it.
    looked_up = F.arrow_udf(campaigns, StringType())  # type: ignore[call-overload]
    # Else Spark asks twice, and drops unknown ads before it has seen their times.
    return cast("Callable[[str], Column]", looked_up.asNondeterministic())


def _writer(
    redis: RedisEndpoint, part: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what writes the counts of a task."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = (column.to_pylist() for column in batch.columns)
            store(redis).write(part, zip(*columns, strict=True))
        return iter(())

    return write


def _parameters(context: QueryContext) -> Parameters:
    return Parameters.model_validate(context.job.parameters)


def _ads(context: QueryContext) -> Ads:
    return Ads(_redis(context), remembers=_parameters(context).cache)


def _redis(context: QueryContext) -> RedisEndpoint:
    return RedisEndpoint.of(context.services["redis"])


QUERIES: Mapping[str, Build] = {"redis": to_redis, "topic": to_topic}
