"""All queries on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamgauge.engines.spark.query import BatchWriter, Build, QueryContext, Streams
from streamgauge.engines.spark.windows.methods import before_each, windowed
from streamgauge.garbage import keep_imports
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.workloads.theodolite import data, store
from streamgauge.workloads.theodolite.attributes import Attribute
from streamgauge.workloads.theodolite.parameters import Parameters
from streamgauge.workloads.theodolite.queries import CONFIGURATION, FEEDBACK, RECORDS
from streamgauge.workloads.theodolite.spark_aggregates import AGGREGATES

FIELDS = "identifier string, timestamp bigint, valueInW double"
_KEYS = ("attribute", "identifier")
_STATISTICS = ("count", "sum", "mean", "min", "max", "variance")
_OFFSET_BITS = 31
"""Of a number that orders the records of a sensor in a window: time, then offset."""


def to_topic(streams: Streams, context: QueryContext) -> DataFrame:
    """Emit each record as JSON."""
    found = _stored(streams[RECORDS], context)
    return found.select(F.col("identifier").alias("key"), F.col("json").alias("value"))


def to_postgres(streams: Streams, context: QueryContext) -> BatchWriter:
    """Let the workers store each record; a repeated batch changes nothing."""
    endpoint = PostgresEndpoint.of(context.services["postgres"])

    def write(batch: DataFrame, number: int) -> None:  # noqa: ARG001 - ids show what is there
        batch.mapInArrow(_row_writer(endpoint), "written int").collect()

    return BatchWriter(_stored(streams[RECORDS], context), write)


def _stored(stream: DataFrame, context: QueryContext) -> DataFrame:
    """Return the fields of each record, and its JSON."""
    found = _read(stream, context, f"id bigint, {FIELDS}")
    return found.withColumn("json", F.to_json(F.struct(*found.columns)))


def _row_writer(
    endpoint: PostgresEndpoint,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what writes the rows of a task."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            store.write(endpoint, pa.table(batch.columns, schema=store.RECORDS))
        keep_imports()
        return iter(())

    return write


def tumbling(streams: Streams, context: QueryContext) -> DataFrame:
    """Summarize each sensor in each window."""
    readings = _timed(_read(streams[RECORDS], context), context)
    window = F.window("time", _ms(_parameters(context).window_ms("uc2"))).alias("window")
    found = readings.groupBy(window, "identifier").agg(*_statistics())
    return _told(_started(found), "identifier", *_STATISTICS)


def hopping(streams: Streams, context: QueryContext) -> DataFrame:
    """Summarize each sensor by time attribute in each window, when it is over."""
    parameters = _parameters(context)
    aggregate = AGGREGATES[parameters.aggregate]
    readings = _by_attribute(streams, context)
    found = windowed(readings, _KEYS, aggregate, parameters.hopping, context)
    return _told(found, *_KEYS, *aggregate.lower)


def sliding(streams: Streams, context: QueryContext) -> DataFrame:
    """Summarize what each record's sensor sent in the time before it, at the same attribute."""
    parameters = _parameters(context)
    aggregate = AGGREGATES[parameters.aggregate]
    readings = _by_attribute(streams, context, "id bigint, ")
    found = before_each(readings, _KEYS, aggregate, parameters.window_ms("uc3"))
    return _told(found.withColumnRenamed("at", "start"), *_KEYS, "id", *aggregate.lower)


def growing(streams: Streams, context: QueryContext) -> DataFrame:
    """Summarize the same while windows are open."""
    windows = _parameters(context).hopping
    window = F.window("time", _ms(windows.size_ms), _ms(windows.slide_ms)).alias("window")
    readings = _by_attribute(streams, context)
    found = readings.groupBy(window, *_KEYS).agg(*_statistics())
    return _told(_started(found), *_KEYS, *_STATISTICS)


def _by_attribute(streams: Streams, context: QueryContext, more: str = "") -> DataFrame:
    attribute = attribute_of(_parameters(context))
    readings = _timed(_read(streams[RECORDS], context, f"{more}{FIELDS}"), context)
    return readings.withColumn("attribute", attribute)


def attribute_of(parameters: Parameters) -> Column:
    """Return the time attribute of a reading; the session's time zone has to be UTC."""
    found = Attribute.parse(parameters.attribute)
    if found.kind == "cycle":
        return F.expr(f"timestamp div {found.step_ms} % {found.values}")
    local = F.from_utc_timestamp("time", parameters.zone)
    return F.hour(local) if found.kind == "hour-of-day" else F.weekday(local)


def _statistics() -> tuple[Column, ...]:
    value = F.col("valueInW")
    return (
        F.count("*").alias("count"),
        F.sum(value).alias("sum"),
        F.avg(value).alias("mean"),
        F.min(value).alias("min"),
        F.max(value).alias("max"),
        F.var_pop(value).alias("variance"),
    )


def _started(found: DataFrame) -> DataFrame:
    return found.withColumn("start", F.unix_millis("window.start"))


def _told(found: DataFrame, *columns: str) -> DataFrame:
    """Write when a window begins, and these columns, as a line, under the sensor."""
    line = _line(F.col("start"), *(F.col(name) for name in columns))
    return found.select(F.col("identifier").alias("key"), line.alias("value"))


def in_one_pass(streams: Streams, context: QueryContext) -> DataFrame:
    """Sum up all groups from the last values of the sensors."""
    size_ms = _parameters(context).window_ms("uc4")
    readings = _timed(_read(streams[RECORDS], context, FIELDS, "offset"), context)
    window = F.window("time", _ms(size_ms)).alias("window")
    order = F.expr(f"timestamp % {size_ms} * {1 << _OFFSET_BITS} + offset")
    lasts = readings.groupBy(window, "identifier").agg(F.max_by("valueInW", order).alias("value"))
    again = F.window(F.window_time("window"), _ms(size_ms)).alias("window")
    sums = (
        lasts.join(F.broadcast(_ancestors(context)), "identifier")
        .groupBy(again, "group")
        .agg(*_sums())
    )
    return sums.select(
        F.col("group").alias("key"), _group_line(F.unix_millis("window.start")).alias("value")
    )


def with_feedback(streams: Streams, context: QueryContext) -> DataFrame:
    """Sum up each group from its members; the sum of a group comes back through a topic.

    In the window of event time in which it comes back, `start` is still that of the sensors'
    window. A sum is emitted when its own window is over: as a record of it, it would be too late.
    """
    size_ms = _parameters(context).window_ms("uc4")
    readings = _read(streams[RECORDS], context, FIELDS, "offset").withColumn(
        "start", F.expr(f"timestamp - timestamp % {size_ms}")
    )
    returned = _read(streams[FEEDBACK], context, f"{FIELDS}, start bigint", "offset")
    members = context.spark.createDataFrame(
        [(name, *parent) for name, parent in _members(context).items()],
        "identifier string, group string, member int",
    )
    order = F.expr(f"timestamp % {size_ms} * {1 << _OFFSET_BITS} + offset")
    lasts = (
        _timed(readings.unionByName(returned), context)
        .join(F.broadcast(members), "identifier")
        .groupBy(F.window("time", _ms(size_ms)).alias("window"), "start", "group", "member")
        .agg(F.max_by("valueInW", order).alias("value"))
    )
    again = F.window(F.window_time("window"), _ms(size_ms)).alias("window")
    sums = lasts.groupBy(again, "start", "group").agg(*_sums())
    return _to_both(sums, context)


def _to_both(sums: DataFrame, context: QueryContext) -> DataFrame:
    """Emit each sum, and feed it back."""
    fields = {
        "identifier": F.col("group"),
        "timestamp": F.unix_millis("window.end"),
        "valueInW": F.col("sum"),
        "start": F.col("start"),
    }
    record = F.to_json(F.struct(*(field.alias(name) for name, field in fields.items())))
    places = {
        context.endpoints.output: _group_line(F.col("start")),
        context.endpoints.internal[FEEDBACK]: record,
    }
    both = F.array(
        *(
            F.struct(F.lit(place).alias("place"), value.alias("value"))
            for place, value in places.items()
        )
    )
    return sums.select(F.col("group").alias("key"), F.explode(both).alias("to")).select(
        "key", "to.place", "to.value"
    )


def _sums() -> tuple[Column, ...]:
    """Add up values, and count members that have one, each of which has a bit of its own."""
    bit = F.expr("shiftleft(1L, member)")
    return F.sum("value").alias("sum"), F.bit_count(F.bit_or(bit)).alias("count")


def _group_line(start: Column) -> Column:
    mean = F.col("sum") / F.col("count")
    return _line(start, F.col("group"), F.col("count"), F.col("sum"), mean)


def _ancestors(context: QueryContext) -> DataFrame:
    """Return all groups that a sensor is in, and in which of their members."""
    members = _members(context)
    rows = []
    inner = {group for group, _ in members.values()}
    for sensor in (name for name in members if name not in inner):
        at = sensor
        while at in members:
            group, member = members[at]
            rows.append((sensor, group, member))
            at = group
    return context.spark.createDataFrame(rows, "identifier string, group string, member int")


def _members(context: QueryContext) -> dict[str, tuple[str, int]]:
    """Return the group of each sensor and group, and its number among the group's members."""
    (row,) = context.configuration(CONFIGURATION).select("value").collect()
    return data.members(row["value"])


def _read(stream: DataFrame, context: QueryContext, fields: str = FIELDS, *more: str) -> DataFrame:
    """Parse records; what cannot be read is left out.

    In batches exploding keeps Spark from parsing once more for each condition on a field, which
    took more than half of its time. Continuous processing cannot explode.
    """
    record = F.from_json(F.col("value").cast("string"), fields)
    if context.job.mode == "microbatch":
        found = stream.select(F.inline(F.array(record)), *more)
    else:
        found = stream.select(record.alias("record"), *more).select("record.*", *more)
    return found.dropna(subset=["identifier", "timestamp", "valueInW"])


def _timed(readings: DataFrame, context: QueryContext) -> DataFrame:
    """Give readings an event time with its watermark."""
    delay_ms = _parameters(context).delay_ms + context.job.watermark_delay_ms
    return readings.withColumn("time", F.timestamp_millis("timestamp")).withWatermark(
        "time", _ms(delay_ms)
    )


def _line(*fields: Column) -> Column:
    return F.concat_ws(",", *(field.cast("string") for field in fields))


def _ms(duration_ms: int) -> str:
    return f"{duration_ms} milliseconds"


def _parameters(context: QueryContext) -> Parameters:
    return Parameters.model_validate(context.job.parameters)


QUERIES: Mapping[str, Build] = {
    "uc1-postgres": to_postgres,
    "uc1-topic": to_topic,
    "uc2": tumbling,
    "uc3-final": hopping,
    "uc3-update": growing,
    "uc3-every": growing,
    "uc3-sliding": sliding,
    "uc4-single": in_one_pass,
    "uc4-feedback": with_feedback,
}
