"""The senders as one barrier job on a Spark cluster: `python -m streamgauge.load.spark_job JOB`.

All tasks run at the same time or none does. Each speaks with the harness itself; what comes back
through Spark is each one's record of the load.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext

from streamgauge.load.messages import SparkJob
from streamgauge.load.spark_senders import TOKEN
from streamgauge.load.spark_task import send

_SETTINGS = {
    "spark.app.name": "streamgauge-senders",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "1g",
    # A sender that has to begin again would send everything twice.
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.python.worker.reuse": "false",
    # A cluster without room for all tasks is told from one that is still starting.
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "2s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "15",
}


def main(argv: list[str]) -> None:
    """Run the job to its end and write what each task recorded."""
    job = SparkJob.model_validate_json(Path(argv[1]).read_bytes())
    conf = SparkConf(loadDefaults=False).setMaster(job.master).setAll([*_SETTINGS.items()])
    conf.set("spark.driver.host", job.host).set("spark.driver.bindAddress", job.host)
    context = SparkContext(conf=conf)
    try:
        jobs = [each.model_dump_json() for each in job.jobs]
        task = partial(send, jobs, (job.host, job.port), os.environ[TOKEN])
        numbers = context.parallelize(range(len(jobs)), len(jobs))
        for number, ticks in numbers.barrier().mapPartitions(task).collect():
            job.jobs[number].ticks.write_bytes(ticks)
    except Py4JJavaError as error:
        sys.exit(f"Spark does not run the senders: {error.java_exception.getMessage()}")
    finally:
        context.stop()


if __name__ == "__main__":
    main(sys.argv)
