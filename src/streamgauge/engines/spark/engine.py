"""Starts a query on Spark in a process of its own, with everything that it needs to run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from streamgauge import registry
from streamgauge.engines.job import ProcessJob, start_job
from streamgauge.engines.spark.executors import ClusterJob
from streamgauge.engines.spark.facts import query_facts
from streamgauge.engines.spark.settings import Size, checkpoint, resolve
from streamgauge.engines.spark.transports import transport_part
from streamgauge.errors import NotReady
from streamgauge.jobfile import SCRATCH, JobSpec
from streamgauge.services import jars
from streamgauge.services.endpoints import secrets_of
from streamgauge.services.java import ENVIRONMENT, find_java, spark_java_home
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.services.spark.private import LOCAL_CONF, private_folder, spark_home
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.engine import Job
from streamgauge.spec.jobs import Modes, Problem, Resources


class SparkEngine:
    """Structured Streaming: in one Java process, or with its tasks in executors of a cluster."""

    name: ClassVar[str] = "spark"
    answers: ClassVar[bool] = True
    cluster: ClassVar[str] = SparkEndpoint.service
    jars: ClassVar[tuple[str, ...]] = ("spark-kafka", "postgres-jdbc")

    def check(self) -> list[Problem]:
        """Return what is missing on this machine; empty when ready."""
        try:
            find_java()
        except NotReady as error:
            return [Problem(error.message, error.remedy or "See `streamgauge doctor`.")]
        return []

    def fetch(self, jobs: Sequence[JobSpec], progress: Callable[[str], None]) -> None:
        """Fetch the jars that are not there yet."""
        for component in dict.fromkeys(name for job in jobs for name in _jars(job)):
            jars.ensure(component, progress)

    def versions(self) -> Mapping[str, str]:
        """Return those of Java and of the connector to Kafka; PySpark is also the harness's."""
        artifact = "spark-sql-kafka-0-10_2.13"
        (connector,) = (jar for jar in jars.locked_jars("spark-kafka") if jar.artifact == artifact)
        return {"java": find_java().version, "spark-sql-kafka": connector.version}

    def resolve(self, job: JobSpec) -> JobSpec:
        """Fill in mode, trigger and settings; refuse what cannot be done with a UsageError."""
        facts = query_facts(job.workload, job.query)
        ours = min(len(os.sched_getaffinity(0)), job.cores or sys.maxsize)
        size = Size(
            cpus=ours if job.instances is None else job.instances * job.instance_cores,
            input_partitions=job.partitions * len(_streams(job)),
        )
        mode, trigger_s, settings = resolve(job, facts, size)
        return replace(
            job,
            mode=mode,
            trigger_s=trigger_s,
            watermark_delay_ms=facts.watermark_delay(mode, job.partitions),
            closed_by_records=mode in facts.closed_by_records,
            checkpoint_s=facts.checkpoint_s if mode == "realtime" else None,
            settings=settings,
            instance_slots=int(settings["spark.executor.cores"]) if job.instances else None,
            checkpoint=checkpoint(job, mode),
        )

    def modes(self, workload: str, query: str) -> Modes:
        """Return the modes and ways in which a query can be run."""
        facts = query_facts(workload, query)
        refused = {str(mode): reason for mode, reason in facts.refused.items()}
        return Modes(facts.modes, refused, facts.options)

    def start(self, job: JobSpec, endpoints: Endpoints, resources: Resources, folder: Path) -> Job:
        """Start the job's process; checkpoints and shuffle files last until it is cleaned up."""
        local = {
            "spark.jars": ",".join(str(path) for name in _jars(job) for path in jars.ensure(name)),
            "spark.local.dir": str(folder.absolute() / SCRATCH / "local"),
        }
        program = [sys.executable, "-m", "streamgauge.engines.spark.job"]

        def start(settings: Mapping[str, str], env: Mapping[str, str]) -> ProcessJob:
            given = replace(job, settings=dict(settings))
            return start_job(program, given, endpoints, resources, folder, env=env)

        if job.instances is None:
            settings = {**job.settings, **local}
            return start(settings, _environment(SparkEndpoint("local"), LOCAL_CONF))
        cluster = SparkEndpoint.of(resources.cluster)
        conf = private_folder({**cluster.private_settings(), **_executors_secrets(endpoints)})
        try:
            place = {"SPARK_CONF_DIR": str(conf)}
            ours = {**cluster.cpus(job.instance_cores), **job.settings}  # -E conf.… decides
            settings = {**ours, **local, **cluster.settings()}
            started = start(settings, _environment(cluster, place))
        except BaseException:
            shutil.rmtree(conf, ignore_errors=True)
            raise
        return ClusterJob(started, folder, conf)


def _jars(job: JobSpec) -> tuple[str, ...]:
    """Name the jars of what carries the records, and of the query itself."""
    facts = query_facts(job.workload, job.query)
    return (*transport_part(job.transport).JARS, *facts.jars)


def _streams(job: JobSpec) -> tuple[str, ...]:
    return registry.load("workloads", job.workload).queries[job.query].streams


def _executors_secrets(endpoints: Endpoints) -> dict[str, str]:
    """Return what gives executors the variables that hold secrets."""
    return {f"spark.executorEnv.{name}": text for name, text in secrets_of(endpoints).items()}


def _environment(cluster: SparkEndpoint, conf: Mapping[str, str]) -> dict[str, str]:
    """Return what isolates the job: this Python, one Java, none of the user's settings."""
    return {
        **ENVIRONMENT,
        "JAVA_HOME": str(spark_java_home(find_java())),
        "SPARK_HOME": str(spark_home()),
        **conf,
        **cluster.environment(),
        "PYSPARK_SUBMIT_ARGS": "pyspark-shell",
        # There is a worker for each slot; threads of NumPy would compete with them.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
