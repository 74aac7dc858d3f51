"""How fast the embedded services start and stop, and what they weigh."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from benchmarks.registry import Measurement, at_most, benchmark
from streamgauge.services import jars
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.postgres.embedded import EmbeddedPostgres
from streamgauge.services.redis import EmbeddedRedis
from streamgauge.services.service import Startable
from streamgauge.services.starting import all_up

_MB = 1e6


@dataclass(frozen=True)
class _Measured:
    ready_s: float
    stop_s: float
    resident_mb: float
    """Sum over all processes; counts memory that PostgreSQL's share once for each of them."""
    proportional_mb: float
    """The same with shared memory counted once."""


def _measure(services: Sequence[Startable]) -> _Measured:
    begin = time.perf_counter()
    with all_up(services) as running:
        ready_s = time.perf_counter() - begin
        tree = [each for service in running.values() for each in _tree(service.processes())]
        memory = [info for each in tree if (info := _memory(each)) is not None]
        begin = time.perf_counter()
    stop_s = time.perf_counter() - begin
    resident_mb = sum(each.rss for each in memory) / _MB
    return _Measured(ready_s, stop_s, resident_mb, sum(each.pss for each in memory) / _MB)


def _memory(process: psutil.Process) -> Any:
    """Return what a process takes; None when it has ended meanwhile, as some of PostgreSQL's do."""
    try:
        return process.memory_full_info()
    except psutil.NoSuchProcess:
        return None


def _tree(roots: Sequence[int]) -> list[psutil.Process]:
    found = [psutil.Process(pid) for pid in roots]
    return [each for root in found for each in (root, *root.children(recursive=True))]


@benchmark("broker")
def broker() -> Iterator[Measurement]:
    """Start Kafka with its jars cached."""
    jars.ensure("kafka")
    yield at_most("broker.ready", _measure([EmbeddedKafka()]).ready_s, "s", 6)


@benchmark("redis")
def redis() -> Iterator[Measurement]:
    """Start Redis."""
    yield at_most("redis.ready", _measure([EmbeddedRedis()]).ready_s, "s", 0.5)


@benchmark("services")
def services() -> Iterator[Measurement]:
    """Start Kafka and PostgreSQL, look at their memory, stop them."""
    jars.ensure("kafka")
    measured = _measure([EmbeddedKafka(), EmbeddedPostgres()])
    yield at_most("services.ready", measured.ready_s, "s", 7)
    yield at_most("services.stop", measured.stop_s, "s", 3)
    yield at_most("services.memory", measured.resident_mb, "MB", 500)
    yield Measurement(
        "services.memory_shared_once", round(measured.proportional_mb, 4), "MB", None, None
    )
