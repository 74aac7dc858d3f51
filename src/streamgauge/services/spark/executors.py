"""Executors of an application: what is asked of a cluster, and what its driver knows of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.spec.trial import InstanceSeen
from streamgauge.units import format_size

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_PAUSE_S = 0.1
_MESSAGES = "org.apache.spark.deploy.DeployMessages$"
_DRIVER = "driver"


@dataclass(frozen=True)
class Worker:
    """What a worker of a standalone cluster has in all; what of it is in use is not told."""

    host: str
    slots: int
    memory: int

    def room(self, slots: int, memory: int) -> int:
        """Return how many executors of that size fit into it."""
        return min(self.slots // slots, self.memory // memory)

    def __str__(self) -> str:
        return f"{self.host} ({self.slots} cores, {format_size(self.memory)})"


def claim(executors: int, slots: int, memory: int) -> dict[str, str]:
    """Return the settings that ask for so many executors, each with slots and bytes of memory."""
    return {
        "spark.dynamicAllocation.enabled": "false",
        "spark.executor.instances": str(executors),
        "spark.executor.cores": str(slots),
        "spark.cores.max": str(executors * slots),
        "spark.executor.memory": f"{memory >> 20}m",
        "spark.executor.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
        # The workers are as many as there are slots; threads of NumPy would fight with them.
        "spark.executorEnv.OMP_NUM_THREADS": "1",
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    }


def seen(spark: SparkSession) -> tuple[InstanceSeen, ...]:
    """Return all executors that a session has had."""
    # The store that the web interface reads, which is there without it.
    found = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    each = (found.apply(number) for number in range(found.size()))
    return tuple(_seen(executor) for executor in each if executor.id() != _DRIVER)


def missing(
    spark: SparkSession,
    wanted: int,
    limit_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> str | None:
    """Wait until all executors have called in; tell what is missing when they have not."""
    deadline = clock() + limit_s
    while (there := sum(each.lost_ms is None for each in seen(spark))) < wanted:
        if clock() > deadline:
            return f"{there} of {wanted} executors called in within {limit_s:g} s"
        sleep(_PAUSE_S)
    return None


def workers(spark: SparkSession, masters: Sequence[tuple[str, int]]) -> list[Worker]:
    """Return the workers of a standalone cluster, as the first of its masters tells.

    None where Spark does not let us ask: this is nothing that it promises.
    """
    from py4j.protocol import Py4JError

    for host, port in masters:
        with suppress(Py4JError):  # that one stands by, or is of another version
            return _workers(spark, host, port)
    return []


def _workers(spark: SparkSession, host: str, port: int) -> list[Worker]:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    load = jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass
    asked = load(f"{_MESSAGES}RequestMasterState$").getField("MODULE$").get(None)
    kind = jvm.scala.reflect.ClassTag.apply(load(f"{_MESSAGES}MasterStateResponse"))
    # The environment's methods name classes that are not there, so only fields can be had.
    environment = _field(load("org.apache.spark.SparkEnv$"), "env", None)
    rpc = _field(load("org.apache.spark.SparkEnv"), "rpcEnv", environment)
    address = jvm.org.apache.spark.rpc.RpcAddress(host, port)
    told = rpc.setupEndpointRef(address, "Master").askSync(asked, kind)
    return [Worker(w.host(), w.cores(), w.memory() << 20) for w in told.workers()]


def _field(of: JavaObject, name: str, owner: JavaObject | None) -> JavaObject:
    """Return what is in a private field."""
    found = of.getDeclaredField(name)
    found.setAccessible(True)
    return found.get(owner)


def _seen(executor: JavaObject) -> InstanceSeen:
    removed, reason = executor.removeTime(), executor.removeReason()
    return InstanceSeen(
        name=executor.id(),
        host=str(executor.hostPort()).rpartition(":")[0],
        slots=executor.totalCores(),
        added_ms=executor.addTime().getTime(),
        lost_ms=removed.get().getTime() if removed.isDefined() else None,
        reason=str(reason.get()) if reason.isDefined() else None,
    )
