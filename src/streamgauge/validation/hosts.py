"""Checks the hosts of a cluster from inside its executors, before anything depends on them."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pyspark
from py4j.protocol import Py4JJavaError

from streamgauge.errors import NotReady
from streamgauge.machine import is_here
from streamgauge.services.spark import packages
from streamgauge.services.spark.endpoint import is_loopback
from streamgauge.services.spark.executors import seen
from streamgauge.validation.host_task import TIME, Host, Target, tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Clock = Callable[[], float]


def look(
    spark: SparkSession, targets: Sequence[Target], listen: str, clock: Clock = time.time
) -> list[Host]:
    """Let a task in every slot of a session's executors report what it finds there.

    Args:
        spark: All its executors have registered.
        targets: What engine and validator will connect to.
        listen: Our address as the executors reach it.
        clock: Ours.

    Raises:
        NotReady: Executors cannot run our tasks, or cannot reach what they need.
    """
    executors = [each for each in seen(spark) if each.lost_ms is None]
    others = sorted({each.host for each in executors if not is_here(each.host)})
    if others:
        _refuse_loopback(targets, others)
    tasks = sum(each.slots for each in executors)
    with _telling_time(listen, clock) as place:
        task = partial(tell, place, tuple(targets))
        numbers = spark.sparkContext.parallelize(range(tasks), tasks)
        try:
            found = numbers.barrier().mapPartitions(task).collect()
        except Py4JJavaError as error:
            raise unusable(str(error)) from error
    _refuse_other_versions(found)
    _refuse_unreachable(found)
    return found


def offsets(hosts: Iterable[Host]) -> dict[str, float]:
    """Return the clock offset of each host: the smallest of its tasks'."""
    found: dict[str, float] = {}
    for each in hosts:
        known = found.get(each.address, each.clock_offset_s)
        found[each.address] = min(known, each.clock_offset_s, key=abs)
    return found


def unusable(error: str) -> NotReady:
    """Explain what keeps executors from running our tasks."""
    if "PYTHON_VERSION_MISMATCH" in error:
        return NotReady(
            f"the executors' Python has another version than ours, {packages.version()}",
            f"Name one of version {packages.version()} with -S spark.python=PATH.",
        )
    if "ModuleNotFoundError" in error:
        line = next(line for line in error.splitlines() if "ModuleNotFoundError" in line)
        return NotReady(
            f"the executors lack a package: {line.strip()}",
            "Leave out -S spark.packages=there, or install the package on their hosts.",
        )
    if "Cannot run program" in error:
        line = next(line for line in error.splitlines() if "Cannot run program" in line)
        return NotReady(
            f"the executors have no such Python: {line.strip()}",
            "Name theirs with -S spark.python=PATH.",
        )
    return NotReady(
        f"the executors cannot run our tasks: {error.strip()}", "Look at the cluster's own logs."
    )


def try_checkpoint(spark: SparkSession, uri: str) -> None:
    """Let all executors write to a place and read there what the others wrote.

    Raises:
        NotReady: They cannot.
    """
    place = f"{uri.rstrip('/')}/streamgauge-check-{secrets.token_hex(4)}"
    tasks = 4 * max(1, len(seen(spark)))
    try:
        spark.range(0, tasks, 1, tasks).write.csv(place)
        found = spark.read.schema("id long").csv(place).count()
    except Exception as error:  # whatever a file system of Java's answers
        reason = str(error).strip().partition("\n")[0]
        raise NotReady(f"the checkpoint folder {uri} cannot be used: {reason}", _SHARED) from error
    finally:
        remove(spark, place)
    if found != tasks:
        raise NotReady(
            f"the checkpoint folder {uri} is not the same for all executors:"
            f" {found} of {tasks} files can be read",
            _SHARED,
        )


_SHARED = "Give -E checkpoint=URI of a file system that driver and executors share."


def remove(spark: SparkSession, uri: str) -> None:
    """Remove a folder wherever it is."""
    jvm, context = spark.sparkContext._jvm, spark.sparkContext._jsc
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(uri)
    try:
        path.getFileSystem(context.hadoopConfiguration()).delete(path, True)
    except Py4JJavaError:  # not writable: the attempt to write has its own error
        return


def _refuse_loopback(targets: Iterable[Target], others: Sequence[str]) -> None:
    for name, host, port in targets:
        if is_loopback(host):
            raise NotReady(
                f"{name} is at {host}:{port}, which the executors on {', '.join(others)} cannot"
                " reach: a loopback address always means the caller's own machine",
                f"Give one they can reach: --service {name}=ADDRESS; flight is for one machine.",
            )


def _refuse_other_versions(found: Iterable[Host]) -> None:
    others = {
        f"{each.address} has {each.spark}" for each in found if each.spark != pyspark.__version__
    }
    if others:
        raise NotReady(
            f"the executors' Spark has another version than ours, {pyspark.__version__}:"
            f" {', '.join(sorted(others))}",
            f"Use a cluster of Spark {pyspark.__version__}.",
        )


def _refuse_unreachable(found: Iterable[Host]) -> None:
    problems = sorted({f"{each.address}: {what}" for each in found for what in each.unreachable})
    if problems:
        raise NotReady(
            f"executors cannot reach what they need: {'; '.join(problems)}",
            "Check addresses, listeners and firewalls from those hosts.",
        )


@contextmanager
def _telling_time(host: str, clock: Clock) -> Iterator[tuple[str, int]]:
    """Send our time to every client that connects."""
    with socket.create_server((host, 0), backlog=256) as listener:
        thread = threading.Thread(target=_serve, args=(listener, clock), daemon=True)
        thread.start()
        try:
            yield host, int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(listener: socket.socket, clock: Clock) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_answer, args=(connection, clock), daemon=True).start()


def _answer(connection: socket.socket, clock: Clock) -> None:
    with connection:
        try:
            while connection.recv(1):
                connection.sendall(TIME.pack(clock()))
        except OSError:
            return
