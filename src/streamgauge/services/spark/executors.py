"""Executors of an application: what is asked of a cluster, and what its driver knows of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from streamgauge.spec.trial import InstanceSeen

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

SLOTS = 1000
"""Tasks that a worker of ours may run at once: so many that it is no limit."""
_PAUSE_S = 0.1
_DRIVER = "driver"


def claim(executors: int, slots: int, memory: int) -> dict[str, str]:
    """Return the settings that ask for executors, each with these slots and bytes of memory."""
    return {
        "spark.dynamicAllocation.enabled": "false",
        "spark.executor.instances": str(executors),
        "spark.executor.cores": str(slots),
        "spark.cores.max": str(executors * slots),
        "spark.executor.memory": f"{memory >> 20}m",
        "spark.executor.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
        # There is a worker for each slot; threads of NumPy would compete with them.
        "spark.executorEnv.OMP_NUM_THREADS": "1",
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    }


def seen(spark: SparkSession) -> tuple[InstanceSeen, ...]:
    """Return all executors that a session has had."""
    # The store that the web interface reads, which exists without it.
    found = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    each = (found.apply(number) for number in range(found.size()))
    return tuple(_seen(executor) for executor in each if executor.id() != _DRIVER)


def host_of(address: str) -> str:
    """Return the host of an executor's address; one that has just registered has no port yet."""
    return re.sub(r":\d+$", "", address)


def missing(
    spark: SparkSession,
    wanted: int,
    limit_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> str | None:
    """Wait until all executors have registered; return what is missing if they have not."""
    deadline = clock() + limit_s
    while (there := sum(each.lost_ms is None for each in seen(spark))) < wanted:
        if clock() > deadline:
            return f"{there} of {wanted} executors registered within {limit_s:g} s"
        sleep(_PAUSE_S)
    return None


def _seen(executor: JavaObject) -> InstanceSeen:
    removed, reason = executor.removeTime(), executor.removeReason()
    return InstanceSeen(
        name=executor.id(),
        host=host_of(str(executor.hostPort())),
        slots=executor.totalCores(),
        added_ms=executor.addTime().getTime(),
        lost_ms=removed.get().getTime() if removed.isDefined() else None,
        reason=str(reason.get()) if reason.isDefined() else None,
    )
