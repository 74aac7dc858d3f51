"""Both queries on Spark, and how each may be run.

A record's value is `id;intended;delay;user_id;gem_pack_id`, of a purchase also `;price`. From the
driver's own queues the same comes as columns, with the time at which the source handed it over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamgauge.engines.spark.query import QueryContext, SparkQuery, Streams
from streamgauge.workloads.rovio.parameters import Parameters

FIELDS = ("id", "intended", "delay_ms", "user", "pack", "price")
"""Of the value, split at semicolons; and names of the columns."""

SLICED_FROM = 4
"""Windows that overlap so often are put together from slices."""

_INGESTED = "cast(reflect('java.lang.System', 'currentTimeMillis') as bigint)"
"""The time at which the source handed a record over; current_timestamp() is one per batch."""


def aggregation(streams: Streams, context: QueryContext) -> DataFrame:
    """Sum up what each gem pack brought in each window."""
    parameters = _parameters(context)
    purchases = _events(streams["purchases"], context, pack="pack", price="price")
    sums = _windowed_sums(purchases, parameters)
    fields = (F.unix_millis("window.start"), F.col("pack"), F.col("price"), F.col("ingested"))
    return sums.select(_line(*fields))


def _windowed_sums(purchases: DataFrame, parameters: Parameters) -> DataFrame:
    """Sum up by window; where windows overlap much, by slice first, each record once."""
    size, slide = parameters.size_ms, parameters.slide_ms
    if size < SLICED_FROM * slide:
        return _sums(purchases, F.window("time", _ms(size), _ms(slide)))
    slices = _sums(purchases, F.window("time", _ms(math.gcd(size, slide))))
    return _sums(slices, F.window(F.window_time("window"), _ms(size), _ms(slide)))


def _sums(rows: DataFrame, window: Column) -> DataFrame:
    return rows.groupBy(window.alias("window"), "pack").agg(
        F.sum("price").alias("price"), F.max("ingested").alias("ingested")
    )


def join(streams: Streams, context: QueryContext) -> DataFrame:
    """Pair purchases with ads of the same user and gem pack in the same window."""
    parameters = _parameters(context)
    purchases = _events(
        streams["purchases"], context, purchase="id", user="user", pack="pack", price="price"
    )
    ads = _events(streams["ads"], context, ad="id", user="user", pack="pack")
    how = _tumbling_pairs if parameters.size_ms == parameters.slide_ms else _sliding_pairs
    pairs = how(purchases.alias("p"), ads.alias("a"), parameters)
    fields = ("purchase", "ad", "p.user", "p.pack", "price")
    ingested = F.greatest("p.ingested", "a.ingested")
    return pairs.select(_line(F.col("start"), *map(F.col, fields), ingested))


def _tumbling_pairs(purchases: DataFrame, ads: DataFrame, parameters: Parameters) -> DataFrame:
    """Join on the window as well: Spark forgets a window's records at its end."""
    window = F.window("time", _ms(parameters.size_ms)).alias("window")
    left = purchases.select("*", window).alias("p")
    right = ads.select("*", window).alias("a")
    same = [F.col(f"p.{name}") == F.col(f"a.{name}") for name in ("window", "user", "pack")]
    return left.join(right, same).select("*", F.unix_millis("p.window.start").alias("start"))


def _sliding_pairs(purchases: DataFrame, ads: DataFrame, parameters: Parameters) -> DataFrame:
    """Join records less than a window apart, then tell the windows that hold both.

    So a record is sent and kept once, however many windows it lies in.
    """
    size, slide = parameters.size_ms, parameters.slide_ms
    apart = F.expr(f"interval {size} milliseconds")
    bought, seen = F.col("p.time"), F.col("a.time")
    near = (seen < bought + apart) & (bought < seen + apart)
    same = [F.col(f"p.{name}") == F.col(f"a.{name}") for name in ("user", "pack")]
    pairs = purchases.join(ads, [*same, near])
    latest, earliest = (F.unix_millis(f(bought, seen)) for f in (F.greatest, F.least))
    first = latest - size - (latest - size) % slide + slide
    last = earliest - earliest % slide
    with_bounds = pairs.select("*", first.alias("first"), last.alias("last"))
    starts = F.explode(F.sequence("first", "last", F.lit(slide).cast("long")))
    return with_bounds.where(F.col("first") <= F.col("last")).select("*", starts.alias("start"))


def _events(stream: DataFrame, context: QueryContext, **columns: str) -> DataFrame:
    """Read the time of each record and some of its fields; its ingestion was stamped before."""
    ingested, field = _written(stream) if "value" in stream.columns else _columns(stream)
    time = F.timestamp_millis(field["intended"] - field["delay_ms"])
    read = [field[of].alias(name) for name, of in columns.items()]
    delay_ms = _parameters(context).allowed_delay_ms + context.job.watermark_delay_ms
    return stream.select(ingested.alias("ingested"), time.alias("time"), *read).withWatermark(
        "time", _ms(delay_ms)
    )


def _written(stream: DataFrame) -> tuple[Column, dict[str, Column]]:
    """Split the value, and stamp the ingestion."""
    parts = F.split(stream["value"].cast("string"), ";", len(FIELDS) + 1)
    return F.expr(_INGESTED), {name: parts[i].cast("long") for i, name in enumerate(FIELDS)}


def _columns(stream: DataFrame) -> tuple[Column, dict[str, Column]]:
    """Take what is there; the source has stamped the ingestion."""
    found = {name: stream[name].cast("long") for name in FIELDS if name in stream.columns}
    return stream["ingested"], found


def _line(*fields: Column) -> Column:
    return F.concat_ws(",", *(field.cast("string") for field in fields)).alias("value")


def _ms(duration_ms: int) -> str:
    return f"{duration_ms} milliseconds"


def _parameters(context: QueryContext) -> Parameters:
    return Parameters.model_validate(context.job.parameters)


_NO_AGGREGATES = "continuous processing knows no aggregation, only filters and projections"
_PER_RECORD = "it puts out a window after every record, and never says which output is the last"
_NO_JOIN = "it knows no join of two streams"

QUERIES: Mapping[str, SparkQuery] = {
    "aggregation": SparkQuery(
        aggregation,
        default="microbatch",
        refused={"realtime": _PER_RECORD, "continuous": _NO_AGGREGATES},
        watermark_delay_partitioned_ms=100,
        stateful=True,
    ),
    "join": SparkQuery(
        join,
        default="microbatch",
        refused={"realtime": _NO_JOIN, "continuous": _NO_JOIN},
        # A record as old as the watermark is late for a join: one with the newest time must not be.
        watermark_delay_ms=1,
        watermark_delay_partitioned_ms=100,
        stateful=True,
    ),
}
