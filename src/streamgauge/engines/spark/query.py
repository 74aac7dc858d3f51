"""What a query's program gets from the Spark engine, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.engines.spark.transports import transport_part
from streamgauge.jobfile import JobSpec
from streamgauge.spec.endpoints import Endpoints, Services

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class QueryContext:
    """What a query may look at while it is built."""

    spark: SparkSession
    job: JobSpec
    endpoints: Endpoints

    def option(self, name: str) -> str:
        """Return the value of an option of the query: what was asked for, or its default."""
        return self.job.settings[name]

    def configuration(self, stream: str) -> DataFrame:
        """Return a stream that was sent as a whole before the load."""
        part = transport_part(self.endpoints.transport)
        return part.read_whole(self.spark, self.endpoints, self.endpoints.configuration[stream])

    @property
    def services(self) -> Services:
        """Return where the services of the query are."""
        return self.endpoints.services


@dataclass(frozen=True)
class BatchWriter:
    """The end of a query that writes to a table: what `foreachBatch` gets."""

    rows: DataFrame
    write: Callable[[DataFrame, int], None]
    """Called with the rows of a micro-batch and its number; must tolerate being called again."""


@dataclass(frozen=True)
class Dropped:
    """The end of a query that writes while it computes, as continuous processing can, too."""

    rows: DataFrame
    """They are computed, and nothing else is done with them."""


Streams = Mapping[str, "DataFrame"]
"""Each with the columns key, partition, offset, timestamp and value."""

Build = Callable[[Streams, QueryContext], "DataFrame | BatchWriter | Dropped"]
"""A query's program; its rows need a column `value`, which goes to the output topic; they may have
a `key`, and the topic of each row in a column `place`.

A workload hands them over as `QUERIES`, by query, in its file `spark.py`.
"""
