"""An embedded Spark cluster: a standalone master and workers, loopback only, with a secret."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from streamgauge import process
from streamgauge.errors import NotReady
from streamgauge.files import write_atomically
from streamgauge.process import Process
from streamgauge.services.embedded import READY_WITHIN_S, Embedded
from streamgauge.services.java import ENVIRONMENT, find_java, spark_java_home
from streamgauge.services.running import Options
from streamgauge.services.runtime import Instance
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.services.spark.executors import SLOTS
from streamgauge.services.spark.private import CONF_DIR, spark_home, write_private
from streamgauge.spec.trial import ResourceSpec

_LOOPBACK = "127.0.0.1"
_DEPLOY = "org.apache.spark.deploy"
_DAEMON = {
    # They hand out work occasionally: little memory is enough, and compiling well does not pay.
    "SPARK_DAEMON_MEMORY": "128m",
    "SPARK_DAEMON_JAVA_OPTS": (
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError"
    ),
}
_SETTINGS = {
    "spark.authenticate": "true",
    "spark.master.rest.enabled": "false",
    # A port that was taken since we chose it is an error; the next one is not tried.
    "spark.port.maxRetries": "0",
    "spark.ui.killEnabled": "false",
}
_ANSWER_S = 1.0
_SPARE_MEMORY = 64 << 20
"""So that rounding to whole megabytes leaves room for the executor."""


@dataclass(frozen=True)
class Size:
    """How many executors there is room for, and how large."""

    workers: int
    cores: int
    memory: int

    def cpus(self, there: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the CPUs of each worker; none where there are too few for all of them."""
        if self.workers * self.cores > len(there):
            return [()] * self.workers
        starts = range(0, self.workers * self.cores, self.cores)
        return [tuple(there[start : start + self.cores]) for start in starts]


class EmbeddedSpark(Embedded[SparkEndpoint]):
    """A cluster of our own, with a worker for each executor.

    Args:
        options: How to start it.
        size: For when no trial says what it needs.
        slots: How many tasks each worker may run at once.
    """

    name = "spark"
    role = "cluster"
    needs_bytes = 256 << 20

    def __init__(self, options: Options | None = None, *, size: Size, slots: int = SLOTS) -> None:
        super().__init__(options)
        self._size = size
        self._slots = slots
        self._java_home = ""
        self._ui = 0

    def fit(self, resources: ResourceSpec) -> bool:
        """Be as large as a trial needs; return whether the size has changed."""
        if resources.instances is None:
            return False
        before = self._size
        self._size = Size(resources.instances, resources.instance_cores, resources.instance_memory)
        return self._size != before

    def prepare(self) -> None:
        """Find Java."""
        self._java_home = str(spark_java_home(find_java()))

    def initialize(self, instance: Instance) -> None:
        """Create the secret, and the configuration that holds it."""
        write_atomically(instance.secret_file, secrets.token_urlsafe(32), 0o600)
        settings = {**_SETTINGS, "spark.authenticate.secret": _secret(instance)}
        write_private(_properties(instance), settings)

    def launch(self, instance: Instance, log: Path) -> tuple[Sequence[Process], SparkEndpoint]:
        """Start the master, and the workers as soon as it accepts them."""
        port, self._ui = self.options.choose_port(), self.options.choose_port()
        endpoint = SparkEndpoint(
            f"spark://{_LOOPBACK}:{port}", _LOOPBACK, password=_secret(instance)
        )
        ports = ["--port", str(port), "--webui-port", str(self._ui)]
        master = self._daemon(instance, log, "master.Master", ports)
        # The wait for the service reports why it ended.
        with suppress(NotReady):
            process.wait_until(lambda: _listens(port), master, READY_WITHIN_S, "Spark's master")
        cpus = self._size.cpus(sorted(os.sched_getaffinity(0)))
        workers = [
            self._worker(instance, log, number, each, endpoint.master)
            for number, each in enumerate(cpus, 1)
        ]
        return [master, *workers], endpoint

    def is_ready(self, endpoint: SparkEndpoint) -> bool:
        """Ask the master whether all workers have registered."""
        try:
            with urllib.request.urlopen(
                f"http://{_LOOPBACK}:{self._ui}/json/", timeout=_ANSWER_S
            ) as answer:
                found = json.load(answer)
        except (OSError, ValueError):
            return False
        known = found.get("url"), found.get("aliveworkers")
        return known == (endpoint.master, self._size.workers)

    def address(self, endpoint: SparkEndpoint) -> str:
        """Return the master's address."""
        return endpoint.master

    def collecting(self, instance: Instance, folder: Path) -> None:
        """Keep what executors logged, and free the space of their copies of jars."""
        for application in (instance.data / "work").glob("worker-*/app-*"):
            worker = application.parent.name
            for stderr in application.glob("*/stderr"):
                name = f"executor-{worker}-{stderr.parent.name}.log"
                shutil.copyfile(stderr, folder / name)
            shutil.rmtree(application, ignore_errors=True)

    def _worker(
        self, instance: Instance, log: Path, number: int, cpus: tuple[int, ...], master: str
    ) -> Process:
        """Start a worker; its executor has the same CPUs."""
        memory_mib = (self._size.memory + _SPARE_MEMORY) >> 20
        size = ["--cores", str(self._slots), "--memory", f"{memory_mib}m"]
        work = ["--work-dir", str(instance.data / "work" / f"worker-{number}")]
        beside = log.with_name(f"{log.stem}-worker-{number}{log.suffix}")
        arguments = ["--webui-port", "0", *size, *work, master]
        return self._daemon(instance, beside, "worker.Worker", arguments, cpus)

    def _daemon(
        self,
        instance: Instance,
        log: Path,
        program: str,
        arguments: Sequence[str],
        cpus: tuple[int, ...] = (),
    ) -> Process:
        home = spark_home()
        common = ["--host", _LOOPBACK, "--properties-file", str(_properties(instance))]
        return self.start(
            instance,
            [home / "bin" / "spark-class", f"{_DEPLOY}.{program}", *common, *arguments],
            log,
            env={
                **ENVIRONMENT,
                **_DAEMON,
                "JAVA_HOME": self._java_home,
                "SPARK_HOME": str(home),
                "SPARK_CONF_DIR": str(CONF_DIR),
                "SPARK_LOCAL_IP": _LOOPBACK,
                "SPARK_LOCAL_DIRS": str(instance.data / "local"),
            },
            affinity=cpus,
        )


def _properties(instance: Instance) -> Path:
    return instance.folder / "spark.conf"


def _secret(instance: Instance) -> str:
    return instance.secret_file.read_text(encoding="utf-8")


def _listens(port: int) -> bool:
    try:
        socket.create_connection((_LOOPBACK, port), _ANSWER_S).close()
    except OSError:
        return False
    return True
