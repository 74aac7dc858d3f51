"""The driver's side of a job on a cluster: it reports its executors."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from pyspark.sql import SparkSession

from streamgauge.engines.spark.executors import EXECUTORS, Told
from streamgauge.engines.spark.reported import ReportedCpu
from streamgauge.jobfile import JobSpec
from streamgauge.services.spark.endpoint import is_loopback
from streamgauge.services.spark.executors import missing, seen

CALL_IN_S = 60.0


class Executors:
    """What Spark knows of the executors of a session."""

    def __init__(self, spark: SparkSession, folder: Path, reported: ReportedCpu | None) -> None:
        self._spark = spark
        self._file = folder / EXECUTORS
        self._reported = reported
        self._told: Told | None = None

    def tell(self) -> None:
        """Write the file again if something has changed."""
        found = Told(
            application=str(self._spark.sparkContext.applicationId),
            executors=seen(self._spark),
            cpu_s={} if self._reported is None else dict(self._reported.seconds()),
        )
        if found != self._told:
            fresh = self._file.with_suffix(".new")
            fresh.write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
            fresh.replace(self._file)
            self._told = found

    def await_all(self, wanted: int) -> str | None:
        """Wait until all executors have registered; return what is missing if they have not."""
        reason = missing(self._spark, wanted, CALL_IN_S)
        self.tell()
        return reason


def listening(job: JobSpec, stack: ExitStack) -> ReportedCpu | None:
    """Let executors report their CPU time where they may be on other hosts."""
    host = job.settings.get("spark.driver.host", "127.0.0.1")
    if job.instances is None or is_loopback(host):
        return None
    return stack.enter_context(ReportedCpu(host))
