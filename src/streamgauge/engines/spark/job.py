"""The Spark job's process: `python -m streamgauge.engines.spark.job JOB.json`.

Ends with code 0 on SIGTERM, and with 1 and the reason in its log when the query fails.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from streamgauge import registry
from streamgauge.engines import job as jobs
from streamgauge.engines.spark.progress import ProgressReporter
from streamgauge.engines.spark.query import BatchWriter, QueryContext, SparkQuery
from streamgauge.engines.spark.settings import CONTINUOUS_CHECKPOINT_S, placed
from streamgauge.spec.contracts import Endpoints, JobSpec

POLL_S = 0.5


def main(argv: list[str]) -> int:
    """Run the query of a job file until told to stop; return the exit code."""
    path = Path(argv[1])
    job, endpoints, progress = jobs.read(path)
    asked_to_stop = threading.Event()
    with _session(job, asked_to_stop) as spark, jobs.ProgressWriter(progress) as writer:
        query = start(spark, job, endpoints, checkpoint=path.parent / "spark" / "checkpoint")
        reporter = ProgressReporter(spark, query, endpoints, writer)
        while not asked_to_stop.wait(POLL_S) and query.isActive:
            reporter.report_status()
        if asked_to_stop.is_set():
            _stop(spark)
        return _outcome(query)
    return 0
