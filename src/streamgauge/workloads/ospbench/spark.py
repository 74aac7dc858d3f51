"""The stages on Spark.

Flow and speed are brought together in two ways. `native` is the engine's join. `union` merges both
streams and aggregates the result: what has both sides, and all lanes where it has to, is let
through. As no lane has two records of a second, that happens once.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamgauge.engines.spark.query import Build, QueryContext, Streams
from streamgauge.engines.spark.windows.aggregate import Aggregate, Part
from streamgauge.engines.spark.windows.methods import windowed
from streamgauge.workloads.ospbench.data import MOST_LANES, STREAMS
from streamgauge.workloads.ospbench.parameters import Parameters
from streamgauge.workloads.ospbench.spark_state import kept

_PUBLISH = Part("publish", "publish", "max")
ADDED_UP = Aggregate(
    (Part("flow", "cast(flow AS bigint)", "sum"), Part("records", "1L", "sum"), _PUBLISH),
    {name: name for name in ("records", "flow", "publish")},
)
KEPT = Aggregate(
    (Part("flows", "cast(flow AS bigint)", "list"), _PUBLISH),
    {
        "records": "size(flows)",
        "flow": "aggregate(flows, 0L, (sum, each) -> sum + each)",
        "publish": "publish",
    },
)

_SECOND = "1 second"
_NAMED = "measurementId string, internalId string, timestamp string, num_lanes int"
_WHOLE = f"{_NAMED}, lat double, long double, period int, accuracy int"
_MEASURED = {"flow": "flow int", "speed": "speed double"}
_ID = r'^\{"id":(\d+),'


def stage0(streams: Streams, _context: QueryContext) -> DataFrame:
    """Pass both streams on; only the ids are read."""
    both = streams["flow"].unionAll(streams["speed"])
    id_ = F.regexp_extract(F.col("value").cast("string"), _ID, 1)
    return both.select(_line(id_, F.unix_millis("timestamp")))


def stage1(streams: Streams, context: QueryContext) -> DataFrame:
    """Parse both streams; what is not JSON has no output."""
    flow, speed = (_fields(streams[name], name, context) for name in STREAMS)
    return flow.unionAll(speed)


def _fields(stream: DataFrame, name: str, context: QueryContext) -> DataFrame:
    """Return the fields of a stream's records as lines."""
    parsed = _parsed(stream, f"id long, {_WHOLE}, {_MEASURED[name]}", context)
    period = F.coalesce(F.col("period").cast("string"), F.lit(""))
    place = ("measurementId", "internalId", F.unix_millis(_time("timestamp")), "lat", "long")
    line = _line("id", "publish", *place, name, period, "accuracy", "num_lanes")
    return parsed.dropna(subset=["num_lanes", name]).select(line)


def _parsed(stream: DataFrame, schema: str, context: QueryContext) -> DataFrame:
    """Parse the records of a stream.

    In batches exploding keeps Spark from parsing once more for each condition on a field.
    """
    publish = F.unix_millis("timestamp").alias("publish")
    record = F.from_json(F.col("value").cast("string"), schema)
    if context.job.mode == "microbatch":
        return stream.select(publish, F.inline(F.array(record)))
    return stream.select(publish, record.alias("record")).select("publish", "record.*")


def stage2(streams: Streams, context: QueryContext) -> DataFrame:
    """Join flow and speed of each lane."""
    if context.option("join") == "native":
        pairs = _joined(streams, context)
    else:
        by = (F.window("time", _SECOND).alias("window"), "point", "lane")
        latest = [F.max(name).alias(name) for name in ("flow", "speed", "lanes", "publish")]
        pairs = _both(streams, context).groupBy(*by).agg(*latest).where(_are_there("flow", "speed"))
    return pairs.select(_line(_start(), "point", _lane_name(), "flow", "speed", "lanes", "publish"))


def stage3(streams: Streams, context: QueryContext) -> DataFrame:
    """Sum up the lanes of each point and second when it is over."""
    return _told(_sums(streams, context))


def stage4(streams: Streams, context: QueryContext) -> DataFrame:
    """Compare those sums with the ones before."""
    parameters = _parameters(context)
    sums = _spans(
        _sums(streams, context), F.window_time("window"), parameters, "flow", "speed", "publish"
    )
    parts = [
        F.max(F.when(_is_back(back), F.col(name))).alias(f"{name}{back}")
        for back in _looked_at(parameters)
        for name in ("flow", "speed")
    ]
    compared = sums.groupBy("span", "point").agg(*parts, F.max("publish").alias("publish"))
    there = _are_there(*(f"flow{back}" for back in _looked_at(parameters)))
    return _compared(compared.where(there), _last(), parameters)


def stage5(streams: Streams, context: QueryContext) -> DataFrame:
    """Sum up the lanes of each point and second as soon as all are there."""
    if context.option("state") == "custom":
        own = kept(_joined(streams, context), (0,))
        return own.select(_line("second", "point", "lanes0", "flow0", "speed0", "publish"))
    by = (F.window("time", _SECOND).alias("window"), "point")
    sums = (
        _both(streams, context)
        .groupBy(*by)
        .agg(
            F.sum("flow").alias("flow"),
            (F.sum("speed") / F.count("speed")).alias("speed"),
            *(F.count(name).alias(f"{name}s") for name in STREAMS),
            *(F.max(name).alias(name) for name in ("lanes", "publish")),
        )
    )
    return _told(sums.where(_are_complete("")))


def stage6(streams: Streams, context: QueryContext) -> DataFrame:
    """Compare those sums with the ones before, as soon as all are there."""
    parameters = _parameters(context)
    if context.option("state") == "custom":
        own = kept(_joined(streams, context, parameters.long), _looked_at(parameters))
        return _compared(own, F.col("second"), parameters)
    both = _both(streams, context, parameters.long)
    rows = _spans(both, F.col("time"), parameters, "lanes", "publish", *STREAMS)
    backs = _looked_at(parameters)
    parts: list[Column] = []
    for back in backs:
        flow, speed = (F.when(_is_back(back), F.col(name)) for name in STREAMS)
        parts += [
            F.sum(flow).alias(f"flow{back}"),
            (F.sum(speed) / F.count(speed)).alias(f"speed{back}"),
            F.count(flow).alias(f"flows{back}"),
            F.count(speed).alias(f"speeds{back}"),
        ]
    sums = rows.groupBy("span", "point").agg(
        *parts, *(F.max(name).alias(name) for name in ("lanes", "publish"))
    )
    for back in backs:
        sums = sums.where(_are_complete(str(back)))
    return _compared(sums, _last(), parameters)


def stage100(streams: Streams, context: QueryContext) -> DataFrame:
    """Add up the flow of each point in hopping windows, as it comes."""
    return _windows(streams, context, ADDED_UP)


def stage101(streams: Streams, context: QueryContext) -> DataFrame:
    """Keep the flow of each point in hopping windows, and add it up at their end."""
    return _windows(streams, context, KEPT)


def _windows(streams: Streams, context: QueryContext, aggregate: Aggregate) -> DataFrame:
    flow, windows = _measured(streams, "flow", context), _parameters(context).hopping
    found = windowed(flow, ("point",), aggregate, windows, context)
    return found.select(_line("start", "point", "records", "flow", "publish"))


def _sums(streams: Streams, context: QueryContext) -> DataFrame:
    """Sum up the pairs of each point and second: those lanes that have both sides."""
    window = F.window("time", _SECOND).alias("window")
    if context.option("join") == "native":
        return (
            _joined(streams, context)
            .groupBy("window", "point")
            .agg(
                F.count("flow").alias("lanes"),
                F.sum("flow").alias("flow"),
                F.avg("speed").alias("speed"),
                F.max("publish").alias("publish"),
            )
        )
    numbers, names = range(1, MOST_LANES + 1), (*STREAMS, "publish")
    by_lane = [
        F.max(F.when(F.col("lane") == number, F.col(name))).alias(f"{name}{number}")
        for number in numbers
        for name in names
    ]
    lanes = _both(streams, context).groupBy(window, "point").agg(*by_lane)
    paired = [_are_there(f"flow{number}", f"speed{number}") for number in numbers]

    def summed(name: str, nothing: int | float) -> Column:
        parts = (
            F.when(is_pair, F.col(f"{name}{number}")).otherwise(F.lit(nothing))
            for number, is_pair in zip(numbers, paired, strict=True)
        )
        return reduce(operator.add, parts)

    count = reduce(operator.add, (is_pair.cast("int") for is_pair in paired))
    latest = F.greatest(
        *(F.when(p, F.col(f"publish{n}")) for n, p in zip(numbers, paired, strict=True))
    )
    return (
        lanes.where(reduce(operator.or_, paired))
        .withColumn("lanes", count)
        .select(
            "window",
            "point",
            "lanes",
            summed("flow", 0).alias("flow"),
            (summed("speed", 0.0) / F.col("lanes")).alias("speed"),
            latest.alias("publish"),
        )
    )


def _joined(streams: Streams, context: QueryContext, more_s: int = 0) -> DataFrame:
    """Join flow and speed of each lane by the engine's own means."""
    flow, speed = (
        _measured(streams, name, context, more_s)
        .withColumn("second", F.unix_millis("time"))
        .withColumn("window", F.window("time", _SECOND))
        .drop("time")  # an operator with state may have one column of event time
        for name in STREAMS
    )
    a, b = flow.alias("a"), speed.alias("b")
    same = [F.col(f"a.{name}") == F.col(f"b.{name}") for name in ("window", "point", "lane")]
    return a.join(b, reduce(operator.and_, same)).select(
        *(f"a.{name}" for name in ("window", "second", "point", "lane", "lanes", "flow")),
        "b.speed",
        F.greatest("a.publish", "b.publish").alias("publish"),
    )


def _both(streams: Streams, context: QueryContext, more_s: int = 0) -> DataFrame:
    """Put flow and speed into one stream, each with its own watermark."""
    flow, speed = (_measured(streams, name, context, more_s) for name in STREAMS)
    return flow.unionByName(speed, allowMissingColumns=True)


def _measured(streams: Streams, name: str, context: QueryContext, more_s: int = 0) -> DataFrame:
    """Parse what the later stages need of a stream; what is not JSON is left out."""
    chosen_ms = _parameters(context).delay_ms
    delay_ms = context.job.watermark_delay_ms if chosen_ms is None else chosen_ms
    parsed = _parsed(streams[name], f"{_NAMED}, {_MEASURED[name]}", context)
    return (
        parsed.dropna(subset=["measurementId", "timestamp", "num_lanes", name])
        .select(
            _time("timestamp").alias("time"),
            F.col("measurementId").alias("point"),
            F.substring("internalId", len("lane") + 1, 9).cast("int").alias("lane"),
            F.col("num_lanes").alias("lanes"),
            name,
            "publish",
        )
        .withWatermark("time", _ms(delay_ms + 1000 * more_s))
    )


def _time(text: str) -> Column:
    """Read a time that is written in UTC, whatever the zone of the session."""
    return F.concat(F.col(text), F.lit("Z")).cast("timestamp")


def _lane_name() -> Column:
    return F.concat(F.lit("lane"), F.col("lane").cast("string"))


def _are_there(*names: str) -> Column:
    return reduce(operator.and_, (F.col(name).isNotNull() for name in names))


def _are_complete(suffix: str) -> Column:
    """Return whether both sides have as many records as the point has lanes."""
    return reduce(operator.and_, (F.col(f"{n}s{suffix}") == F.col("lanes") for n in STREAMS))


def _spans(rows: DataFrame, time: Column, parameters: Parameters, *names: str) -> DataFrame:
    """Put rows into the spans of all seconds that they are compared in."""
    span = F.window(time, f"{parameters.long + 1} seconds", _SECOND).alias("span")
    second = F.unix_millis(F.date_trunc("second", time)).alias("second")
    in_spans = rows.select(span, second, "point", *names)
    return in_spans.where(reduce(operator.or_, map(_is_back, _looked_at(parameters))))


def _looked_at(parameters: Parameters) -> tuple[int, int, int]:
    """Return how many seconds back the compared seconds are."""
    return 0, parameters.short, parameters.long


def _is_back(seconds: int) -> Column:
    """Return whether a row is that many seconds before the last one of its span."""
    return _last() - F.col("second") == 1000 * seconds


def _told(sums: DataFrame) -> DataFrame:
    return sums.select(_line(_start(), "point", "lanes", "flow", "speed", "publish"))


def _last() -> Column:
    """Return the last second of a span."""
    return F.unix_millis("span.end") - 1000


def _compared(sums: DataFrame, second: Column, parameters: Parameters) -> DataFrame:
    """Return how much each sum of a second differs from those before."""
    changes = [
        (F.col(f"{name}0") - F.col(f"{name}{back}")) / F.col(f"{name}{back}")
        for name in STREAMS
        for back in (parameters.short, parameters.long)
    ]
    return sums.select(_line(second, "point", "flow0", "speed0", *changes, "publish"))


def _start() -> Column:
    """Return when the window begins."""
    return F.unix_millis("window.start")


def _line(*fields: Column | str) -> Column:
    columns = (F.col(field) if isinstance(field, str) else field for field in fields)
    return F.concat_ws(",", *(column.cast("string") for column in columns)).alias("value")


def _ms(duration_ms: int) -> str:
    return f"{duration_ms} milliseconds"


def _parameters(context: QueryContext) -> Parameters:
    return Parameters.model_validate(context.job.parameters)


QUERIES: Mapping[str, Build] = {
    "stage0": stage0,
    "stage1": stage1,
    "stage2": stage2,
    "stage3": stage3,
    "stage4": stage4,
    "stage5": stage5,
    "stage6": stage6,
    "stage100": stage100,
    "stage101": stage101,
}
