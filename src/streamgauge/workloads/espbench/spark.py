"""The queries of ESPBench on Spark.

A record's value is `id;intended;payload`; a sensor's payload has TAB-separated columns, so that
splitting the whole value at TABs leaves mf01 in the third part.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType

from streamgauge.engines.spark.closing import AFTER, closed_by_records
from streamgauge.engines.spark.query import BatchWriter, Build, QueryContext, Streams
from streamgauge.garbage import keep_imports
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.workloads.espbench.spark_sos import outlier_probabilities
from streamgauge.workloads.espbench.spark_times import TimesWriter

MF01, MF02, MF03 = 2, 3, 4
"""Position of a measurement in the value split at TABs."""

MF01_ERROR = 14_963
MF03_LOW = 8_105
WINDOW_RECORDS = 500
PERPLEXITY = 30.0
MIN_PROBABILITY = 0.5
PARTITIONED_DELAY_WINDOWS = 300


def text(value: Column) -> Column:
    """Return a record's value as a string."""
    return value.cast("string")


def measurement(value: Column, position: int) -> Column:
    """Return a measurement of a sensor's record; what follows it is not even split."""
    return F.split(text(value), "\t", position + 2)[position].cast("int")


def sensor_status(streams: Streams, context: QueryContext) -> DataFrame:
    """Q1: average, least, greatest and number of mf01 in each second of append time."""
    mf01 = F.col("mf01")
    records = (
        streams["sensor1"]
        .select("timestamp", "partition", measurement(F.col("value"), MF01).alias("mf01"))
        .withWatermark("timestamp", f"{context.job.watermark_delay_ms} milliseconds")
    )
    summary = (F.avg(mf01).alias("mean"), F.min(mf01), F.max(mf01), F.count(mf01))
    if context.job.closed_by_records:
        partitions = context.job.partitions
        seconds = closed_by_records(_halves(records), ["window"], summary, partitions)
    else:
        seconds = records.groupBy(F.window("timestamp", "1 second")).agg(*summary)
    value = F.concat_ws(
        ",",
        F.unix_millis("window.start").cast("string"),
        F.format_string("%.6f", "mean"),
        *(F.col(f"{name}(mf01)").cast("string") for name in ("min", "max", "count")),
    )
    return seconds.select(value.alias("value"))


def _halves(records: DataFrame) -> DataFrame:
    """Put each record into the window that it is in, and into the one that it closes."""
    in_first = F.col("timestamp") < F.col("window.start") + F.expr("interval 1 second")
    return records.select("*", F.window("timestamp", "2 seconds", "1 second")).select(
        "window",
        F.when(in_first, F.col("mf01")).alias("mf01"),
        F.when(~in_first, F.col("partition")).alias(AFTER),
    )


def outliers(streams: Streams, context: QueryContext) -> DataFrame:
    """Q2: outliers among each 500 records, in log order of each partition.

    The number of the window stands for its time, so that the watermark passes, and Spark forgets,
    whole windows. In update mode a window appears when it changes, and is let through when full:
    once. With several partitions the watermark is that of the foremost, so others get a delay.
    """
    delay_s = 0 if context.job.partitions == 1 else PARTITIONED_DELAY_WINDOWS
    number = F.expr(f"offset div {WINDOW_RECORDS}")
    columns = F.split(text(F.col("value")), "\t", MF02 + 2)
    record = F.struct("value", *(columns[n].cast("double") for n in (MF01, MF02)))
    full = (
        streams["sensor1"]
        .select("partition", F.timestamp_seconds(number).alias("time"), record.alias("record"))
        .withWatermark("time", f"{delay_s} seconds")
        .groupBy(F.window("time", "1 second"), "partition")
        .agg(F.collect_list("record").alias("records"))
        .where(F.size("records") == WINDOW_RECORDS)
    )
    # PySpark takes the kind of function from its hints and warns if given; its stubs want it.
    probabilities = F.arrow_udf(judge, ArrayType(DoubleType()))  # type: ignore[call-overload]
    judged = full.select(
        F.explode(
            F.arrays_zip(
                F.col("records.value").alias("line"),
                probabilities(F.col("records.col2"), F.col("records.col3")).alias("p"),
            )
        ).alias("judged")
    ).select("judged.*")
    line = F.concat(text(F.col("line")), F.lit(","), F.format_string("%.2f", "p"))
    return judged.where(F.col("p") >= MIN_PROBABILITY).select(line.alias("value"))


def judge(x: pa.Array, y: pa.Array) -> pa.Array:
    """Return how likely each point of each window is an outlier."""
    windows = [
        outlier_probabilities(np.column_stack([xs.values, ys.values]), PERPLEXITY)
        for xs, ys in zip(x, y, strict=True)
    ]
    keep_imports()
    return pa.array(windows, pa.list_(pa.float64()))


def errors(streams: Streams, context: QueryContext) -> DataFrame:  # noqa: ARG001 - the contract
    """Q3: records whose mf01 is too high."""
    return streams["sensor1"].where(measurement(F.col("value"), MF01) > MF01_ERROR).select("value")


def machine_power(streams: Streams, context: QueryContext) -> DataFrame:
    """Q4: records of low power outside the downtime of their workplace, as the database has it.

    The table is read for every batch: in real-time mode, at every checkpoint.
    """
    low = (
        streams["sensor1"]
        .unionByName(streams["sensor2"])
        .where(measurement(F.col("value"), MF03) < MF03_LOW)
        .select(
            "value",
            F.substring_index(text(F.col("value")), "\t", -1).cast("int").alias("workplace"),
            F.timestamp_millis(F.split(text(F.col("value")), ";", 3)[1].cast("long")).alias("time"),
        )
    )
    start, end, time = F.col("wp_downtime_start"), F.col("wp_downtime_end"), F.col("time")
    running = start.isNull() | end.isNull() | (time < start) | (time > end)
    workplaces = F.broadcast(_workplaces(context))
    return (
        low.join(workplaces, low["workplace"] == workplaces["wp_id"]).where(running).select("value")
    )


def _workplaces(context: QueryContext) -> DataFrame:
    postgres = _postgres(context)
    schema = postgres.schema.replace('"', '""')
    return (
        context.spark.read.format("jdbc")
        .option("driver", "org.postgresql.Driver")
        .option("url", f"jdbc:postgresql://{postgres.host}:{postgres.port}/{postgres.database}")
        .option("dbtable", f'"{schema}".workplace')
        .option("user", postgres.user)
        .option("password", postgres.password)
        .load()
        .select("wp_id", "wp_downtime_start", "wp_downtime_end")
    )


def processing_times(streams: Streams, context: QueryContext) -> BatchWriter:
    """Q5: when a product entered and left its workplace, written to the database."""
    payload = F.split(text(F.col("value")), ";", 3)[2]
    names = ("o_id", "ol_number", "pol_number", "is_end")
    columns = [F.split(payload, "\t")[n].cast("int").alias(name) for n, name in enumerate(names)]
    return BatchWriter(streams["times"].select(*columns), TimesWriter(_postgres(context)).write)


def _postgres(context: QueryContext) -> PostgresEndpoint:
    return PostgresEndpoint.of(context.services["postgres"])


def identity(streams: Streams, context: QueryContext) -> DataFrame:  # noqa: ARG001 - the contract
    """Pass every record through."""
    return streams["sensor1"].select("value")


QUERIES: Mapping[str, Build] = {
    "q1": sensor_status,
    "q2": outliers,
    "q3": errors,
    "q4": machine_power,
    "q5": processing_times,
    "identity": identity,
}
