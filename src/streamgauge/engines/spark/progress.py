"""What a Spark job reports while it runs: every finished batch, and whether it is idle."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import AwareDatetime, BaseModel, Field
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from streamgauge.jobfile import ProgressWriter
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.progress import BatchReport
from streamgauge.spec.values import Json

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_WHOLE = "triggerExecution"
_BETWEEN_BATCHES = ("Getting offsets from ", "Waiting for ")
"""How the message of a query's status begins while no batch runs."""


class HasStatus(Protocol):
    """What is used of a running query."""

    @property
    def status(self) -> dict[str, Any]:
        """Return what it is doing now."""


class ProgressReporter:
    """Combines what the listener receives and what the query's status says."""

    def __init__(
        self, endpoints: Endpoints, writer: ProgressWriter, gc_ms: Callable[[], int] | None = None
    ) -> None:
        self._streams = {topic: stream for stream, topic in endpoints.inputs.items()}
        self._finished = {stream: [0] * endpoints.partitions for stream in endpoints.inputs}
        self._writer = writer
        self._gc_ms = gc_ms
        self._lock = threading.Lock()

    def listen(self, spark: SparkSession) -> None:
        """Listen to every batch of this session.

        PySpark's own listener fetches an event field by field, with some fifty calls between
        Python and Java for each batch; this one fetches it as JSON, with two.
        """
        context = spark.sparkContext
        ensure_callback_server_started(context._gateway)
        package = context._jvm.org.apache.spark.sql.streaming  # type: ignore[union-attr]
        listener = package.PythonStreamingQueryListenerWrapper(_Listener(self))
        spark._jsparkSession.streams().addListener(listener)

    def report_batch(self, event: Mapping[str, Json]) -> None:
        """Report a finished batch; a real-time query reports at every checkpoint."""
        batch = finished_batch(event).model_dump(exclude_none=True)
        with self._lock:
            self._finished |= offsets(event, self._streams)
            self._writer.report(self._finished, idle=False, batch=batch)

    def report_status(self, query: HasStatus) -> None:
        """Report whether anything is left to do.

        A query that waits for data polls a hundred times a second. Its trigger is active for much
        of that time, although the query is idle.
        """
        status = query.status
        works = status["isTriggerActive"] and not status["message"].startswith(_BETWEEN_BATCHES)
        self._report(idle=not (status["isDataAvailable"] or works))

    def report_epoch(self, checkpoint: Path) -> None:
        """Report the epochs that continuous processing has committed: it sends no events for them.

        It is idle when nothing came from one epoch to the next.
        """
        before, newest = (offsets(event, self._streams) for event in committed_epochs(checkpoint))
        self._finished |= newest
        self._report(idle=before == newest)

    def _report(self, *, idle: bool) -> None:
        gc_ms = None if self._gc_ms is None else self._gc_ms()
        with self._lock:
            self._writer.report(self._finished, idle=idle, gc_ms=gc_ms)


def collection_time(spark: SparkSession) -> Callable[[], int]:
    """Return a counter of the milliseconds of garbage collection since Java's start."""
    management = spark.sparkContext._jvm.java.lang.management  # type: ignore[union-attr]
    collectors = list(management.ManagementFactory.getGarbageCollectorMXBeans())
    return lambda: sum(int(collector.getCollectionTime()) for collector in collectors)


class _Listener:
    """The Java interface that is notified of batches."""

    def __init__(self, reporter: ProgressReporter) -> None:
        self._reporter = reporter

    def onQueryStarted(self, event: JavaObject) -> None:  # noqa: N802 - a Java interface
        pass

    def onQueryProgress(self, event: JavaObject) -> None:  # noqa: N802
        self._reporter.report_batch(json.loads(event.progress().json()))

    def onQueryIdle(self, event: JavaObject) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: JavaObject) -> None:  # noqa: N802
        pass

    class Java:
        """Tells Py4J what this is to Java."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


_FILES = "rocksdbSstFileSize"
"""For state in RocksDB: bytes of its files."""


class _Operator(BaseModel):
    dropped: int = Field(alias="numRowsDroppedByWatermark")
    rows: int = Field(default=0, alias="numRowsTotal")
    memory: int = Field(default=0, alias="memoryUsedBytes")
    more: dict[str, int] = Field(default={}, alias="customMetrics")

    @property
    def size(self) -> int:
        """Return the bytes of the state; the memory of RocksDB is that of its caches."""
        return self.more.get(_FILES, self.memory)


class _Event(BaseModel):
    """What is read of StreamingQueryProgress, as Spark renders it."""

    timestamp: AwareDatetime
    durations: dict[str, float] = Field(alias="durationMs")
    records: int = Field(alias="numInputRows")
    operators: list[_Operator] = Field(default=[], alias="stateOperators")


def finished_batch(event: Mapping[str, Json]) -> BatchReport:
    """Read from a progress event what every engine can report about a batch.

    Its phases keep Spark's names; the one that spans them all is the batch itself.
    """
    read = _Event.model_validate(event)
    phases = dict(read.durations)
    took_ms = phases.pop(_WHOLE, sum(phases.values()))
    dropped = [operator.dropped for operator in read.operators]
    return BatchReport(
        began_ms=round(read.timestamp.timestamp() * 1000),
        took_ms=took_ms,
        phases=phases,
        records=read.records,
        dropped=sum(dropped) if dropped else None,
        state_rows=sum(each.rows for each in read.operators) if read.operators else None,
        state_bytes=sum(each.size for each in read.operators) if read.operators else None,
    )


def committed_epochs(checkpoint: Path) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
    """Return the last two epochs in a checkpoint, as far as `offsets` reads a progress event."""
    numbers = (int(file.name) for file in checkpoint.glob("commits/*") if file.name.isdigit())
    newest = max(numbers, default=-1)
    return _epoch(checkpoint, newest - 1), _epoch(checkpoint, newest)


def _epoch(checkpoint: Path, number: int) -> Mapping[str, Json]:
    """Read an epoch's entry: a version, a line about the query, and a line for each source."""
    try:
        lines = (checkpoint / "offsets" / str(number)).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {"sources": [{"endOffset": json.loads(line)} for line in lines[2:]]}


def offsets(event: Mapping[str, Json], streams: Mapping[str, str]) -> dict[str, list[int]]:
    """Read the next offset of every partition of each stream from a progress event.

    Args:
        event: As Spark renders it.
        streams: The stream of each topic.
    """
    found: dict[str, list[int]] = {}
    sources = event.get("sources")
    for source in sources if isinstance(sources, list) else []:
        ends = source.get("endOffset") if isinstance(source, dict) else None
        for topic, partitions in (ends if isinstance(ends, dict) else {}).items():
            assert isinstance(partitions, dict), "Kafka's offsets are by topic, then by partition"
            ordered = sorted((int(number), offset) for number, offset in partitions.items())
            if topic in streams:  # otherwise it is no input: the query's own, or its configuration
                found[streams[topic]] = [int(str(offset)) for _, offset in ordered]
    return found
