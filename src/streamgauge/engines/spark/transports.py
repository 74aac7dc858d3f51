"""What a transport contributes so that Spark can use it: its file `spark.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from streamgauge import registry
from streamgauge.spec.endpoints import Endpoints

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter


class TransportPart(Protocol):
    """A transport's file for Spark; it can be imported without PySpark."""

    JARS: tuple[str, ...]
    """Components of jars.lock."""
    BASE: Mapping[str, str]
    """Settings in every profile: `source.…` of each source, `sink.…` of the sink."""
    TUNED: Mapping[str, str]
    """Settings that make it faster."""
    ASYNCHRONOUS: Mapping[str, str]
    """Settings that let progress be written while the next batch of a stateless query runs."""

    def read(
        self, spark: SparkSession, endpoints: Endpoints, name: str, options: Mapping[str, str]
    ) -> DataFrame:
        """Return a stream by the name of its place."""

    def read_whole(self, spark: SparkSession, endpoints: Endpoints, name: str) -> DataFrame:
        """Return what a stream holds now: one that was sent as a whole before the load."""

    def write(
        self, result: DataFrame, endpoints: Endpoints, name: str, options: Mapping[str, str]
    ) -> DataStreamWriter:
        """Send the column `value` of a stream to a place.

        It may have a `key`, and a column `place` with the place of each row, which then decides.
        """


def transport_part(name: str) -> TransportPart:
    """Return a transport's file for Spark."""
    found: Any = registry.implementation(name, "spark", "transports")
    part: TransportPart = found
    return part
