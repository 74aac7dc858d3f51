"""What a workload hands the Spark engine: the queries, and as data how each may be run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from streamgauge.errors import UsageError, unknown_name
from streamgauge.spec.endpoints import Endpoints, Services
from streamgauge.spec.engine import JobSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Mode = Literal["realtime", "microbatch", "continuous"]
MODES: tuple[Mode, ...] = get_args(Mode)


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


Streams = Mapping[str, "DataFrame"]
"""Each with the columns key, partition, offset, timestamp and value."""


@dataclass(frozen=True)
class SparkQuery:
    """One query; the engine owns source, sink, trigger and checkpoint."""

    build: Callable[[Streams, QueryContext], DataFrame | BatchWriter]
    """Its rows need a column `value`, which goes to the output topic."""
    default: Mode
    output_mode: Literal["append", "update"] = "append"
    """In micro-batches; real-time mode knows `update` only."""
    refused: Mapping[Mode, str] = field(default_factory=dict)
    """Modes that cannot give one final output per key, each with the reason."""
    checkpoint_s: float = 300.0
    """Interval of checkpoints in real-time mode; each is a gap of some tenths of a second."""
    watermark_delay_ms: int = 0
    watermark_delay_partitioned_ms: int = 0
    """The same with several partitions, since the watermark is the greatest of all partitions."""
    stateful: bool = False
    asynchronous: bool = False
    """Offsets may be written while the next batch runs: stateless queries to Kafka."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of Spark, where the query is tuned."""
    jars: tuple[str, ...] = ()
    """Components of jars.lock that it needs beside those of the transport."""

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Return the modes that it allows."""
        return tuple(mode for mode in MODES if mode not in self.refused)

    def watermark_delay(self, partitions: int) -> int:
        """Return the watermark's delay in milliseconds."""
        return self.watermark_delay_ms if partitions == 1 else self.watermark_delay_partitioned_ms

    def choose_mode(self, query: str, wanted: str | None) -> Mode:
        """Return the wanted mode, or the best one when none is wanted.

        Raises:
            UsageError: There is no such mode, or it cannot run this query.
        """
        if wanted is None:
            return self.default
        for mode in MODES:
            if mode == wanted and mode in self.refused:
                raise UsageError(
                    f"spark cannot run {query} in mode {mode}: {self.refused[mode]}",
                    f"Use -E mode={' or mode='.join(self.modes)}.",
                )
            if mode == wanted:
                return mode
        raise unknown_name("mode of spark", wanted, MODES)
