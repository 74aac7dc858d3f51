"""The driver's side of a job on a cluster: it waits for its executors and tells of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from streamgauge.engines.spark.executors import EXECUTORS, Told
from streamgauge.files import write_atomically
from streamgauge.jobfile import JobSpec
from streamgauge.spec.trial import InstanceSeen

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

CALL_IN_S = 60.0
_PAUSE_S = 0.1
_DRIVER = "driver"


class Executors:
    """What Spark knows of the executors of a session."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._context = spark.sparkContext
        self._file = folder / EXECUTORS
        self._told: Told | None = None

    def tell(self) -> None:
        """Write the file anew where something has changed."""
        found = Told(application=str(self._context.applicationId), executors=self._all())
        if found != self._told:
            write_atomically(self._file, found.model_dump_json(indent=1) + "\n")
            self._told = found

    def await_all(
        self,
        wanted: int,
        limit_s: float = CALL_IN_S,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> str | None:
        """Wait until all executors have called in; tell what is missing when they have not."""
        deadline = clock() + limit_s
        while (there := sum(each.lost_ms is None for each in self._all())) < wanted:
            if clock() > deadline:
                return f"{there} of {wanted} executors called in within {limit_s:g} s"
            sleep(_PAUSE_S)
        self.tell()
        return None

    def _all(self) -> tuple[InstanceSeen, ...]:
        # The store that the web interface reads, which is there without it.
        found = self._context._jsc.sc().statusStore().executorList(False)
        each = (found.apply(number) for number in range(found.size()))
        return tuple(_seen(executor) for executor in each if executor.id() != _DRIVER)


def _seen(executor: JavaObject) -> InstanceSeen:
    removed, reason = executor.removeTime(), executor.removeReason()
    return InstanceSeen(
        name=executor.id(),
        host=str(executor.hostPort()).rpartition(":")[0],
        slots=executor.totalCores(),
        added_ms=executor.addTime().getTime(),
        lost_ms=removed.get().getTime() if removed.isDefined() else None,
        reason=str(reason.get()) if reason.isDefined() else None,
    )


def checkpoint_uri(job: JobSpec, scratch: Path) -> str:
    """Return where the query keeps its state and progress."""
    return job.options.get("checkpoint") or str(scratch / "checkpoint")
