"""The harness's own queues as Spark reads and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from streamgauge.spec.endpoints import Endpoints

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

JARS: tuple[str, ...] = ()
BASE: Mapping[str, str] = {}
TUNED: Mapping[str, str] = {}
ASYNCHRONOUS: Mapping[str, str] = {}


def read(
    spark: SparkSession, endpoints: Endpoints, name: str, options: Mapping[str, str]
) -> DataFrame:
    """Return a queue as a stream: its columns, and when the source handed each record over."""
    from streamgauge.transports.flight import spark_source

    return spark_source.read_stream(spark, endpoints, name, options)


def read_whole(spark: SparkSession, endpoints: Endpoints, name: str) -> NoReturn:  # noqa: ARG001
    """Refuse: queues carry nothing before the load."""
    raise TypeError("no queue holds a stream as a whole")


def write(
    result: DataFrame,
    endpoints: Endpoints,
    name: str,  # noqa: ARG001 - there is one output
    options: Mapping[str, str],  # noqa: ARG001 - the way back has none
) -> DataStreamWriter:
    """Send the column `value` of a stream back to the harness."""
    from streamgauge.transports.flight import spark_source

    return spark_source.write_stream(result, endpoints)
