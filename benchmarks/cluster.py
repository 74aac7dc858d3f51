"""Spark on an embedded cluster of two executors with a core each, against one process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

import streamgauge
from benchmarks.registry import Measurement, at_least, at_most, benchmark
from streamgauge.api import Run
from streamgauge.services.spark.embedded import EmbeddedSpark, Size
from streamgauge.spec.trial import TrialResult

RUNS = Path(__file__).parents[1] / "runs"
TWO = {"instances": 2, "instance_cores": 1, "instance_memory": "2GiB"}
_TIMES = {"warmup": "30s", "duration": "60s"}
_FLIGHT_RATE = 2_000_000.0
"""To begin with, in records a second."""
_STEP = 1.25
_DOWN = 4
"""How many lower rates are tried on the cluster."""
_BEFORE_LOAD = ("prepare", "start", "consume")


@benchmark("cluster-up")
def up() -> Iterator[Measurement]:
    """Start a master and two workers."""
    began_s = time.monotonic()
    with EmbeddedSpark(size=Size(2, 1, 2 << 30)).up() as running:
        yield at_most("cluster.up", time.monotonic() - began_s, "s", 8)
        used = sum(psutil.Process(pid).memory_info().rss for pid in running.processes())
        yield at_most("cluster.memory", used / 2**20, "MiB", 600)


@benchmark("cluster-latency", slow=True, makes_runs=True)
def latency() -> Iterator[Measurement]:
    """q3 in real-time mode and q2 in micro-batches; ratios to one process."""
    for query, metric, most in (("q3", "latency.p99", 2.0), ("q2", "latency.p90", 1.5)):
        one, two = (
            _run(f"espbench/{query}", rates=["10k/s"], **_TIMES, **how) for how in ({}, TWO)
        )
        yield from _verdicts(query, two)
        values = [run.results[0].metrics.get(metric, float("inf")) for run in (one, two)]
        yield Measurement(f"cluster.{query}.{metric}.one", values[0], "s", None, None)
        yield at_most(f"cluster.{query}.{metric}", values[1] / values[0], "x", most)


@benchmark("cluster-flight", slow=True, makes_runs=True)
def flight() -> Iterator[Measurement]:
    """The aggregation over flight: a rate held on the cluster against one too high without it."""
    rate = _FLIGHT_RATE
    while _holds(rate, {"cores": 2}):
        rate *= _STEP
    yield Measurement("cluster.flight.one.too_high", rate, "1/s", None, None)
    lower = (_STEP**-number for number in range(1, _DOWN + 1))
    # What one process holds is less than what was too high for it, so this is the least ratio.
    ratio = next((each for each in lower if _holds(rate * each, TWO)), 0.0)
    yield at_least("cluster.flight.rate", ratio, "x", 1 / _STEP)


@benchmark("cluster-start", slow=True, makes_runs=True)
def start() -> Iterator[Measurement]:
    """How much later the load of a trial begins on a cluster that is up than in one process."""
    short = {"rates": ["1k/s"], "warmup": "5s", "duration": "10s", "repeats": 2}
    one, two = (_run("espbench/q3", **short, **how).results[1] for how in ({}, TWO))
    yield at_most("cluster.start", _before_load_s(two) - _before_load_s(one), "s", 10)


def _run(target: str, **settings: Any) -> Run:
    return streamgauge.run(target, runs=RUNS, **settings)


def _holds(rate: float, how: Mapping[str, Any]) -> bool:
    """Tell whether the aggregation over flight keeps up with a rate, with right answers."""
    places: Mapping[str, Any] = {"transport": "flight", "partitions": 2}
    run = _run("rovio/aggregation", rates=[f"{rate:.0f}/s"], **_TIMES, **places, **how)
    (result,) = run.results
    return all(each.holds is True for each in (result.valid, result.correct, result.kept_up))


def _verdicts(query: str, run: Run) -> Iterator[Measurement]:
    (result,) = run.results
    held = sum(each.holds is True for each in (result.valid, result.correct, result.kept_up))
    yield at_least(f"cluster.{query}.verdicts", held, "of 3", 3)


def _before_load_s(result: TrialResult) -> float:
    return sum(result.phases[name] for name in _BEFORE_LOAD)
