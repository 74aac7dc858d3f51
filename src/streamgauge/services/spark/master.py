"""What a standalone cluster has, as its master reports it over Spark's own protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from streamgauge.errors import NotReady
from streamgauge.jobfile import variable
from streamgauge.services.spark.endpoint import SparkEndpoint, places
from streamgauge.units import format_size

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject, JVMView

JAVA_ERRORS = (Py4JError, PySparkException)
"""What a Java exception becomes: the second if PySpark was used before."""
_DEPLOY = "org.apache.spark.deploy"
_ANSWER = "5s"
_TIMEOUTS = ("spark.rpc.askTimeout", "spark.rpc.lookupTimeout", "spark.network.auth.rpcTimeout")


@dataclass(frozen=True)
class Worker:
    """What a worker of a standalone cluster has in all; how much of it is in use is unknown."""

    host: str
    slots: int
    memory: int

    def room(self, slots: int, memory: int) -> int:
        """Return how many executors of that size fit into it."""
        return min(self.slots // slots, self.memory // memory)

    def __str__(self) -> str:
        return f"{self.host} ({self.slots} cores, {format_size(self.memory)})"


def workers(jvm: JVMView, cluster: SparkEndpoint) -> Sequence[Worker] | None:
    """Ask before an application does, which would be refused only after a minute.

    Args:
        jvm: It was started with the settings and secrets of an application there.
        cluster: Where its masters are.

    Returns:
        The workers; None for a cluster of another kind.

    Raises:
        NotReady: No master answers us.
    """
    found: list[Worker] = []
    refused: Exception | None = None
    masters = places(cluster.master)
    for host, port in masters:
        try:
            found += _ask(jvm, cluster.host, host, port)
        except JAVA_ERRORS as error:
            refused = refused or error
            continue
        if found:  # a standby master has none
            break
    else:
        if refused is not None:
            raise _refusal(cluster, reason(refused))
    return found if masters else None


def _ask(jvm: JVMView, own_host: str, host: str, port: int) -> list[Worker]:
    spark = jvm.org.apache.spark
    conf = spark.SparkConf()
    for key in _TIMEOUTS:
        conf.set(key, _ANSWER)
    load = jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass
    entries = _module(load, "org.apache.spark.internal.config.package$")
    nothing = _module(load, "scala.None$")
    security = spark.SecurityManager(conf, nothing, entries.AUTH_SECRET_FILE())
    messages = f"{_DEPLOY}.DeployMessages$"
    kind = jvm.scala.reflect.ClassTag.apply(load(f"{messages}MasterStateResponse"))
    rpc = spark.rpc.RpcEnv.create("streamgauge-look", own_host, 0, conf, security, True)
    try:
        master = rpc.setupEndpointRef(spark.rpc.RpcAddress(host, port), "Master")
        state = master.askSync(_module(load, f"{messages}RequestMasterState$"), kind)
        return [Worker(each.host(), each.cores(), each.memory() << 20) for each in state.workers()]
    finally:
        rpc.shutdown()


def _module(load: JavaObject, name: str) -> JavaObject:
    """Return what Scala calls an object."""
    return load(name).getField("MODULE$").get(None)


def reason(error: Exception) -> str:
    """Return the deepest cause, which says most; Java must still run for that."""
    if not isinstance(error, Py4JJavaError):
        return str(error).partition("\n")[0]
    cause = error.java_exception
    while (deeper := cause.getCause()) is not None:
        cause = deeper
    line = str(cause.toString()).partition("\n")[0]
    return line.rpartition("RuntimeException: ")[2]  # which says nothing, at times twice


def _refusal(cluster: SparkEndpoint, reason: str) -> NotReady:
    secret = variable(cluster.service, "password")
    return NotReady(
        f"the master of the Spark cluster {cluster.address} does not answer as one of Spark"
        f" {pyspark.__version__}: {reason}",
        f"It must have that version, and authenticate with the secret in {secret}, or not at all"
        " if there is none.",
    )
