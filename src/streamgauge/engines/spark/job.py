"""The Spark job's process: `python -m streamgauge.engines.spark.job JOB.json`.

Ends with code 0 on SIGTERM, and with 1 and the reason in its log when the query fails. Java ends
when this process does, even by SIGKILL, since its standard input closes.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from streamgauge import registry
from streamgauge.engines import job as jobs
from streamgauge.engines.spark.cluster import Executors, listening
from streamgauge.engines.spark.facts import QueryFacts, query_facts
from streamgauge.engines.spark.progress import ProgressReporter, collection_time
from streamgauge.engines.spark.query import BatchWriter, Build, Dropped, QueryContext
from streamgauge.engines.spark.settings import CONTINUOUS_CHECKPOINT_S, placed
from streamgauge.engines.spark.transports import transport_part
from streamgauge.jobfile import PLAN, JobSpec, ProgressWriter
from streamgauge.spec.endpoints import Endpoints

POLL_S = 0.5
_PLAN_LOOKS = 60


def main(argv: list[str]) -> int:
    """Run the query of a job file until asked to stop; return the exit code."""
    path = Path(argv[1])
    job, endpoints = jobs.read(path)
    with ExitStack() as stack:
        reported = listening(job, stack)
        spark = stack.enter_context(_session(job, {} if reported is None else reported.settings()))
        writer = stack.enter_context(ProgressWriter(job.progress))
        reporter = ProgressReporter(endpoints, writer, collection_time(spark))
        reporter.listen(spark)
        executors = None if job.instances is None else Executors(spark, path.parent, reported)
        if executors is not None and (missing := executors.await_all(job.instances or 0)):
            sys.stderr.write(f"{missing}\n")
            return 1
        here = Path(job.scratch) / "checkpoint"
        stored = here if job.checkpoint is None else f"{job.checkpoint}/{endpoints.group}"
        query = start(spark, job, endpoints, stored)
        plan = PlanWriter(path.with_name(PLAN))
        while query.isActive:
            plan.write(query)
            if job.mode == "continuous":
                reporter.report_epoch(Path(unquote(urlsplit(str(stored)).path)))
            else:
                reporter.report_status(query)
            if executors is not None:
                executors.tell()
            time.sleep(POLL_S)
        if executors is not None:
            executors.tell()
        reason = str(query.exception() or "no reason was reported")
        # Spark's plan of the query follows the reason, and would hide it.
        sys.stderr.write(f"{reason}\nthe query ended: {reason.partition(chr(10))[0]}\n")
    return 1


class PlanWriter:
    """Writes the plan of a query once it has one: it names the parts of generated code."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._looks = 0

    def write(self, query: StreamingQuery) -> None:
        """Look for the plan; it comes with the first batch."""
        if self._looks >= _PLAN_LOOKS or self._file.exists():
            return
        self._looks += 1
        text = str(query._jsq.explainInternal(False))  # `explain` prints it
        if "== Physical Plan ==" in text:
            self._file.write_text(text, encoding="utf-8")


def start(
    spark: SparkSession, job: JobSpec, endpoints: Endpoints, checkpoint: str | Path
) -> StreamingQuery:
    """Start the job's query between its topics."""
    facts = query_facts(job.workload, job.query)
    build: Build = registry.implementation(job.workload, "spark").QUERIES[job.query]
    part = transport_part(endpoints.transport)
    options = placed(job.settings, "source.")
    streams = {
        name: part.read(spark, endpoints, place, options)
        for name, place in {**endpoints.read, **endpoints.internal}.items()
    }
    result = build(streams, QueryContext(spark, job, endpoints))
    if isinstance(result, BatchWriter):
        sink = result.rows.writeStream.foreachBatch(result.write)
    elif isinstance(result, Dropped):
        sink = result.rows.writeStream.format("noop")
    else:
        assert endpoints.output is not None, "a query that writes to a topic gets one"
        sink = part.write(result, endpoints, endpoints.output, placed(job.settings, "sink."))
    return (
        sink.outputMode(facts.output(job.mode, job.settings))
        .trigger(**_trigger(job, facts))
        .option("checkpointLocation", str(checkpoint))
        .start()
    )


def _trigger(job: JobSpec, facts: QueryFacts) -> dict[str, str]:
    if job.mode == "realtime":
        return {"realTime": f"{_ms(facts.checkpoint_s)} milliseconds"}
    if job.mode == "continuous":
        return {"continuous": f"{_ms(CONTINUOUS_CHECKPOINT_S)} milliseconds"}
    return {"processingTime": f"{_ms(job.trigger_s or 0)} milliseconds"}


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


@contextmanager
def _session(job: JobSpec, more: Mapping[str, str]) -> Iterator[SparkSession]:
    """Start Spark, and silence it at the end: an interrupted task logs long errors."""
    builder = SparkSession.builder.appName(f"streamgauge {job.workload} {job.query}")
    for key, value in {**placed(job.settings, "spark."), **more}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        with suppress(Py4JError, OSError):
            spark.sparkContext.setLogLevel("OFF")


def _end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - a signal handler
    """Exit at once; Java gets the signal too, or ends because we do."""
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    sys.exit(main(sys.argv))
