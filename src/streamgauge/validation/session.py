"""The Spark session that validates and makes data: bounded, quiet, ended with us.

On this machine there is one per run. On a cluster it is an application of its own, ended as soon as
it has done its work, so that it holds nothing that an engine's job needs.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyspark
from py4j.java_gateway import JavaGateway, JVMView
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import UTF8Deserializer, read_int
from pyspark.sql import SparkSession

from streamgauge import process
from streamgauge.errors import NotReady
from streamgauge.process import Process
from streamgauge.services.java import ENVIRONMENT, find_java, spark_java_home
from streamgauge.services.spark import executors, master
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.services.spark.executors import claim
from streamgauge.services.spark.private import LOCAL_CONF, private_folder
from streamgauge.spec.trial import LEAST_MEMORY
from streamgauge.units import format_size

_SETTINGS = {
    "spark.app.name": "streamgauge-validation",
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
_LOCAL = SparkEndpoint("local")
_START_S = 120.0
_EXECUTORS_S = 45.0


@dataclass(frozen=True)
class Place:
    """A cluster to work on, and how much of it to take."""

    cluster: SparkEndpoint
    executors: int
    slots: int
    """Of each: how many tasks it may run at once."""
    cores: int
    """Of each: CPUs."""
    memory: int = LEAST_MEMORY
    """Of each, in bytes: what they compute is in their Python workers."""

    def settings(self) -> dict[str, str]:
        """Return the settings that an application there needs, without secrets."""
        return {
            **self.cluster.settings(),
            **self.cluster.cpus(self.cores),
            **claim(self.executors, self.slots, self.memory),
        }


class Session:
    """Starts Spark when it is first needed; leaving the context stops it, its JVM included.

    The JVM is a child like our others: whatever happens to this process, and even while Spark is
    still starting, it ends with us.
    """

    def __init__(
        self,
        folder: Path,
        *,
        java_home: Path | None = None,
        place: Place | None = None,
        cores: int | None = None,
    ) -> None:
        """Remember what to start.

        Args:
            folder: Gets the log `spark.log`, and while it runs a folder of temporary files.
            java_home: Folder whose `bin/java` runs Spark; None for the one that is found.
            place: A cluster; None for this machine.
            cores: On this machine; None for all that we may use.
        """
        self._log = folder / "spark.log"
        self._temporary = folder.absolute() / "spark-temporary"
        self._java_home = java_home
        self._master = f"local[{cores or len(os.sched_getaffinity(0))}]"
        self._place = place
        self._conf: Path | None = None
        self._jvm: Process | None = None
        self._spark: SparkSession | None = None
        self._has = ""
        """What a standalone cluster has in all, as a part of a sentence."""

    def move(self, place: Place | None) -> None:
        """Work there from now on; stop what runs elsewhere."""
        if place != self._place:
            self.stop()
            self._place = place

    def release(self) -> None:
        """Hold nothing of a cluster any more; on this machine the session is kept."""
        if self._place is not None:
            self.stop()

    def get(self) -> SparkSession:
        """Return the session, started when there is none.

        Raises:
            NotReady: Spark's JVM does not start.
        """
        if self._spark is not None and self._jvm is not None and self._jvm.alive:
            return self._spark
        self.stop()  # if its JVM died: the trial that saw it is spoilt, the next one is not
        self._temporary.mkdir(parents=True, exist_ok=True)
        settings = {**_LOCAL.settings(), "spark.master": self._master}
        if self._place is not None:
            self._conf = private_folder(self._place.cluster.private_settings())
            settings = self._place.settings()
        conf = SparkConf(loadDefaults=False)
        conf.setAll([*_SETTINGS.items(), *settings.items(), *self._places().items()])
        try:
            with _environment(self._variables()):
                self._spark = self._start(conf)
            if self._place is not None:
                self._await_executors(self._spark, self._place)
        except NotReady:
            self.stop()
            raise
        return self._spark

    def stop(self) -> None:
        """Stop Spark and its JVM, which PySpark by itself leaves running until we end."""
        if self._conf is not None:
            shutil.rmtree(self._conf, ignore_errors=True)
            self._conf = None
        if self._jvm is None:
            return
        if self._spark is not None and self._jvm.alive:  # otherwise PySpark would warn
            with suppress(Py4JError, OSError):
                self._spark.stop()
        if SparkContext._gateway is not None:
            SparkContext._gateway.shutdown()
        # PySpark would hand the dead gateway, and what was made with it, to the next session.
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None
        self._jvm.stop()
        self._jvm = self._spark = None
        shutil.rmtree(self._temporary, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        interrupted = kind is not None and not issubclass(kind, Exception)
        if interrupted and self._jvm is not None:
            self._jvm.kill()  # it would end its work before it listens
        self.stop()

    def _start(self, conf: SparkConf) -> SparkSession:
        handler = signal.getsignal(signal.SIGINT)
        gateway = self._launch(conf)
        # PySpark looks for them as soon as Java throws anything.
        SparkContext._gateway, SparkContext._jvm = gateway, gateway.jvm
        if self._place is not None:
            self._look_for_room(gateway.jvm, self._place)
        try:
            context = SparkContext(conf=conf, gateway=gateway)
        except master.JAVA_ERRORS as error:
            reason = master.reason(error)
            raise NotReady(f"Spark does not start: {reason}", f"See {self._log}.") from None
        if signal.getsignal(signal.SIGINT) is not handler:
            signal.signal(signal.SIGINT, handler)  # PySpark's would hide an interrupt from us
        # A killed JVM is noticed elsewhere; PySpark would print a traceback about it.
        vars(context._accumulatorServer)["handle_error"] = lambda *_: None
        return SparkSession(context)

    def _await_executors(self, spark: SparkSession, place: Place) -> None:
        """Wait until the cluster gives us what was asked for: Spark itself would wait forever."""
        if (missing := executors.missing(spark, place.executors, _EXECUTORS_S)) is not None:
            raise self._too_little(place, missing)

    def _look_for_room(self, jvm: JVMView, place: Place) -> None:
        """Check that the cluster accepts us, and has what we are going to ask for."""
        workers = master.workers(jvm, place.cluster)
        if workers is None:
            return
        self._has = f"; it has {', '.join(map(str, workers)) or 'no workers'}"
        room = sum(each.room(place.slots, place.memory) for each in workers)
        if room < place.executors:
            missing = f"there is room for {room} of {place.executors} executors"
            raise self._too_little(place, missing)

    def _too_little(self, place: Place, missing: str) -> NotReady:
        return NotReady(
            f"the Spark cluster {place.cluster.address} does not provide what is asked for:"
            f" {missing}{self._has}",
            f"It needs {place.executors} free workers of Spark {pyspark.__version__}, each with"
            f" room for {place.slots} tasks at once (cores, in Spark's words) and"
            f" {format_size(place.memory)} of memory (--instance-memory); Spark's own messages are"
            f" in {self._log}.",
        )

    def _launch(self, conf: SparkConf) -> JavaGateway:
        """Start the JVM as PySpark does, but as a child of ours; it lives as long as its stdin."""
        connection = self._temporary / "gateway"
        settings = [part for pair in conf.getAll() for part in ("--conf", "=".join(pair))]
        submit = Path(_find_spark_home()) / "bin" / "spark-submit"
        self._jvm = process.start(
            [submit, *settings, "pyspark-shell"],
            log=self._log,
            env={"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection)},
            pipe_stdin=True,
        )
        try:
            process.wait_until(connection.exists, self._jvm, _START_S, "Spark's Java process")
        except NotReady as error:
            raise NotReady(error.message, "Run `streamgauge doctor`, which checks Java.") from None
        with connection.open("rb") as file:
            port, secret = read_int(file), UTF8Deserializer().loads(file)
        connection.unlink()
        with _environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
            return launch_gateway()

    def _places(self) -> dict[str, str]:
        return {
            "spark.local.dir": str(self._temporary),
            "spark.sql.warehouse.dir": (self._temporary / "warehouse").as_uri(),
        }

    def _variables(self) -> dict[str, str]:
        return {
            **ENVIRONMENT,
            "JAVA_HOME": str(self._java_home or spark_java_home(find_java())),
            **(LOCAL_CONF if self._conf is None else {"SPARK_CONF_DIR": str(self._conf)}),
            "SPARK_LOCAL_DIRS": str(self._temporary),
            **(_LOCAL if self._place is None else self._place.cluster).environment(),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables that the JVM and its workers inherit, and restore them afterwards."""
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
