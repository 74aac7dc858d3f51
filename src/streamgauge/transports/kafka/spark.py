"""Topics as Spark reads and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.transports.kafka.java_client import java_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

JARS = ("spark-kafka",)
BASE: Mapping[str, str] = {"source.startingOffsets": "earliest"}
TUNED: Mapping[str, str] = {"source.kafka.fetch.max.wait.ms": "10", "sink.kafka.linger.ms": "0"}
ASYNCHRONOUS: Mapping[str, str] = {"sink.asyncProgressTrackingEnabled": "true"}
"""Offsets are written while the next batch runs."""


def read(
    spark: SparkSession, endpoints: Endpoints, name: str, options: Mapping[str, str]
) -> DataFrame:
    """Return a topic as a stream: key, partition, offset, timestamp and value."""
    return (
        spark.readStream.format("kafka")
        .options(**_client(endpoints), **options)
        .option("subscribe", name)
        .option("groupIdPrefix", endpoints.group)
        .load()
        .select("key", "partition", "offset", "timestamp", "value")
    )


def read_whole(spark: SparkSession, endpoints: Endpoints, name: str) -> DataFrame:
    """Return what a topic holds now."""
    return (
        spark.read.format("kafka")
        .options(**_client(endpoints))
        .option("subscribe", name)
        .option("groupIdPrefix", endpoints.group)
        .load()
    )


def write(
    result: DataFrame, endpoints: Endpoints, name: str, options: Mapping[str, str]
) -> DataStreamWriter:
    """Write the column `value` of a stream to a topic, or to the topic in the column `place`."""
    placed = "place" in result.columns
    rows = result.withColumnRenamed("place", "topic") if placed else result
    sink = rows.writeStream.format("kafka").options(**_client(endpoints), **options)
    return sink if placed else sink.option("topic", name)


def _client(endpoints: Endpoints) -> dict[str, str]:
    settings = java_settings(KafkaEndpoint.of(endpoints.via))
    return {f"kafka.{key}": value for key, value in settings.items()}
