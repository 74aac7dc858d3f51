"""The Spark session that validates: one per run, bounded, quiet, gone with us."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from streamgauge.errors import NotReady
from streamgauge.process import log_tail
from streamgauge.services.java import ENVIRONMENT, find_java, spark_java_home

_SETTINGS = {
    "spark.app.name": "streamgauge-validation",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Records pass through in pieces and what does not fit goes to disk: little memory will do.
    "spark.driver.memory": "512m",
    # Java only moves what others have computed: compiling it well takes longer than it saves.
    "spark.driver.extraJavaOptions": (
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError"
    ),
    "spark.driver.maxResultSize": "0",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    # The number of partitions follows from the work; there is nothing to find out while it runs.
    "spark.sql.adaptive.enabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    # A row may be a table of a megabyte.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32",
    "spark.executorEnv.OMP_NUM_THREADS": "1",
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
}
_STOP_S = 10.0


class Session:
    """Starts Spark when it is first needed; leaving the context stops it, its JVM included.

    Should this process be killed, the JVM ends as well: it lives as long as the pipe to it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        java_home: Path | None = None,
        master: str | None = None,
        cores: int | None = None,
    ) -> None:
        """Remember what to start.

        Args:
            folder: Gets the log `spark.log`, and while it runs a folder of temporary files.
            java_home: Folder whose `bin/java` runs Spark; None for the one that is found.
            master: Address of a cluster; None for this machine.
            cores: On this machine; None for all that we may use.
        """
        self._log = folder / "spark.log"
        self._temporary = folder.absolute() / "spark-temporary"
        self._java_home = java_home
        self._master = master or f"local[{cores or len(os.sched_getaffinity(0))}]"
        self._spark: SparkSession | None = None

    def get(self) -> SparkSession:
        """Return the session, started when there is none.

        Raises:
            NotReady: Spark's JVM does not start.
        """
        if self._spark is not None and self._launched().poll() is not None:
            self.stop()  # its JVM died: the trial that saw it is spoilt, the next one is not
        if self._spark is None:
            self._temporary.mkdir(parents=True, exist_ok=True)
            conf = SparkConf(loadDefaults=False).setMaster(self._master)
            conf.setAll([*_SETTINGS.items(), *self._places().items()])
            with _environment(self._variables()):
                context = SparkContext(conf=conf, gateway=self._launch(conf))
            self._spark = SparkSession(context)
        return self._spark

    def stop(self) -> None:
        """Stop Spark and its JVM, which PySpark by itself leaves running until we end."""
        if self._spark is None:
            return
        gateway, jvm = self._spark.sparkContext._gateway, self._launched()
        with suppress(Py4JError, OSError):  # a JVM that died cannot be asked to stop
            self._spark.stop()
        self._spark = None
        assert gateway is not None
        gateway.shutdown()
        # PySpark would hand the dead gateway, and what was made with it, to the next session.
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None
        _end(jvm)
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _launched(self) -> subprocess.Popen[bytes]:
        """Return the JVM of the running session."""
        assert self._spark is not None
        gateway = self._spark.sparkContext._gateway
        assert gateway is not None
        jvm: subprocess.Popen[bytes] = gateway.proc
        return jvm

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _launch(self, conf: SparkConf) -> JavaGateway:
        """Start the JVM, with what it prints in our log."""
        with self._log.open("ab") as log:
            try:
                # A session of its own: a signal to our group must reach us alone, or Java is gone
                # while PySpark still talks to it.
                apart = {"stdout": log, "stderr": log, "start_new_session": True}
                return launch_gateway(conf, apart)
            except PySparkRuntimeError as error:
                raise NotReady(
                    f"Spark's Java process did not start:\n{log_tail(self._log)}",
                    "Run `streamgauge doctor`, which looks at Java.",
                ) from error

    def _places(self) -> dict[str, str]:
        return {
            "spark.local.dir": str(self._temporary),
            "spark.sql.warehouse.dir": (self._temporary / "warehouse").as_uri(),
        }

    def _variables(self) -> dict[str, str]:
        return {
            **ENVIRONMENT,
            "JAVA_HOME": str(self._java_home or spark_java_home(find_java())),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self._temporary),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }


def _end(jvm: subprocess.Popen[bytes]) -> None:
    """Close the pipe that keeps the JVM alive, and see that it ends."""
    if jvm.stdin is not None:
        jvm.stdin.close()
    try:
        jvm.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables that the JVM and its workers inherit, and take them back."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
