"""The senders as one barrier job on a Spark cluster: `python -m streamgauge.load.spark_job JOB`.

All tasks run at the same time or none does. Each talks to the harness itself; what comes back
through Spark is each task's record of the load.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext

from streamgauge.load.protocol import SparkJob
from streamgauge.load.settling import until_still
from streamgauge.load.spark_senders import TOKEN
from streamgauge.load.spark_task import send
from streamgauge.spec.trial import MOST_SENDERS

_SETTINGS = {
    "spark.app.name": "streamgauge-senders",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "1g",
    # A restarted sender would send everything twice.
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.python.worker.reuse": "false",
    # A cluster without room for all tasks must not look like one that is still starting.
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "2s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "15",
}


_STILL_S = 5.0
"""Executors start at about the same time."""
_EXECUTORS_S = 60.0


def main(argv: list[str]) -> None:
    """Run the job to its end and write what each task recorded."""
    asked = SparkJob.model_validate_json(Path(argv[1]).read_bytes())
    conf = SparkConf(loadDefaults=False).setMaster(asked.master).setAll([*_SETTINGS.items()])
    conf.set("spark.driver.host", asked.host).set("spark.driver.bindAddress", asked.host)
    context = SparkContext(conf=conf)
    try:
        jobs = asked.job.shared(_slots(context, asked.senders))
        texts = [job.model_dump_json() for job in jobs]
        task = partial(send, texts, (asked.host, asked.port), os.environ[TOKEN])
        numbers = context.parallelize(range(len(jobs)), len(jobs))
        for number, ticks in numbers.barrier().mapPartitions(task).collect():
            jobs[number].ticks.write_bytes(ticks)
    except Py4JJavaError as error:
        sys.exit(f"Spark does not run the senders: {error.java_exception.getMessage()}")
    finally:
        context.stop()


def _slots(
    context: SparkContext, wanted: int | None, sleep: Callable[[float], None] = time.sleep
) -> int:
    """Return how many senders to run: as many as wanted, or as the cluster runs tasks at once.

    That is known when its executors have registered.
    """
    spark = context._jsc.sc()
    profile = spark.resourceProfileManager().defaultResourceProfile()
    # Not defaultParallelism, which is at least 2, whatever the cluster has.
    found = until_still(
        lambda: int(spark.maxNumConcurrentTasks(profile)),
        still_s=_STILL_S,
        most_s=_EXECUTORS_S,
        enough=wanted,
        sleep=sleep,
    )
    if not found:
        sys.exit(f"the Spark cluster has no free core after {_EXECUTORS_S:g} s")
    if wanted is not None and found < wanted:
        sys.exit(
            f"the Spark cluster has {found} free slots, and each of {wanted} senders needs one"
        )
    return wanted or min(found, MOST_SENDERS)


if __name__ == "__main__":
    main(sys.argv)
