"""The driver's side of a job on a cluster: it tells of its executors."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from streamgauge.engines.spark.executors import EXECUTORS, Told
from streamgauge.files import write_atomically
from streamgauge.services.spark.executors import missing, seen

CALL_IN_S = 60.0


class Executors:
    """What Spark knows of the executors of a session."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._file = folder / EXECUTORS
        self._told: Told | None = None

    def tell(self) -> None:
        """Write the file anew where something has changed."""
        application = str(self._spark.sparkContext.applicationId)
        found = Told(application=application, executors=seen(self._spark))
        if found != self._told:
            write_atomically(self._file, found.model_dump_json(indent=1) + "\n")
            self._told = found

    def await_all(self, wanted: int) -> str | None:
        """Wait until all executors have called in; tell what is missing when they have not."""
        reason = missing(self._spark, wanted, CALL_IN_S)
        self.tell()
        return reason
