"""What a query's program gets from the Spark engine, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from streamgauge.spec.endpoints import Endpoints, Services
from streamgauge.spec.engine import JobSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


@dataclass(frozen=True)
class QueryContext:
    """What a query may look at while it is built."""

    spark: SparkSession
    job: JobSpec
    endpoints: Endpoints

    @property
    def services(self) -> Services:
        """Return where the services of the query are."""
        return self.endpoints.services


@dataclass(frozen=True)
class BatchWriter:
    """The end of a query that writes to a table: what `foreachBatch` gets."""

    rows: DataFrame
    write: Callable[[DataFrame, int], None]
    """Called with the rows of a micro-batch and its number; must bear being called again."""


class Writer(Protocol):
    """What `foreach` gets: opened and closed for every partition of every batch or epoch."""

    def open(self, partition_id: int, epoch_id: int) -> bool:
        """Begin; True to get the rows."""

    def process(self, row: Row) -> None:
        """Take a row."""

    def close(self, error: Exception | None) -> None:
        """End; all is written when this returns."""


@dataclass(frozen=True)
class RowWriter:
    """The end of a query that writes row by row, which continuous processing knows as well."""

    rows: DataFrame
    writer: Writer


Streams = Mapping[str, "DataFrame"]
"""Each with the columns key, partition, offset, timestamp and value."""

Build = Callable[[Streams, QueryContext], "DataFrame | BatchWriter | RowWriter"]
"""A query's program; its rows need a column `value`, which goes to the output topic.

A workload hands them over as `QUERIES`, by query, in its file `spark.py`.
"""
