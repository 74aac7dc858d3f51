"""How much the driver's own queues give, and what Spark sustains of it; ratios to `noop`.

Everything on one machine: the queues take a part of the cores that the engine has.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

import streamgauge
from benchmarks.registry import Measurement, at_least, benchmark
from streamgauge.load.senders import Senders
from streamgauge.planning import load_workload
from streamgauge.services import runtime
from streamgauge.spec.contracts import Endpoints
from streamgauge.spec.endpoints import FlightEndpoint
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.transports.flight import QueueClient

RUNS = Path(__file__).parents[1] / "runs"
_PULLED = 20_000_000
_CHUNK = 1_000_000
_PARTITIONS = 2
_TIMES = {"warmup": "60s", "duration": "180s"}
"""As long as a trial of a search: in less the trend of windows cannot be told."""
AGGREGATION, JOIN, KAFKA = 1_500_000, 100_000, 250_000
"""Events a second and stream that must be sustained."""


@benchmark("flight-queues", slow=True)
def queues() -> Iterator[Measurement]:
    """Generator and queues alone: events per second of processor time."""
    parameters = load_workload("rovio").parameters().model_dump(mode="json")
    spec = TrialSpec(
        number=1,
        workload="rovio",
        query="aggregation",
        parameters=parameters,
        engine="noop",
        transport="flight",
        rate=_PULLED / 10,
        duration_s=10.0,
        warmup_s=0.0,
        tail_s=0.0,
        preload=True,
    )
    endpoint = FlightEndpoint("127.0.0.1", runtime.free_port(), "benchmark")
    names = {"purchases": "purchases"}
    endpoints = Endpoints(None, names, "out", 1, "", flight=endpoint)
    with TemporaryDirectory() as folder:
        (Path(folder) / "logs").mkdir()
        with Senders.start(spec, endpoints, Path(folder)) as senders:
            senders.ready(60)
            senders.begin(time.time_ns() // 1_000_000)
            while not senders.finished:
                time.sleep(0.1)
            (pid,) = senders.pids
            began_s, used_s = time.monotonic(), _cpu_s(pid)
            with QueueClient(endpoint) as client:
                for start in range(0, _PULLED, _CHUNK):
                    for _ in client.read("purchases", 0, start, start + _CHUNK):
                        pass
            passed_s, used_s = time.monotonic() - began_s, _cpu_s(pid) - used_s
    yield at_least("flight.queues", _PULLED / used_s, "1/s per core", 5e6)
    yield Measurement("flight.queues.wall", round(_PULLED / passed_s), "1/s", None, None)


@benchmark("flight-aggregation", slow=True, makes_runs=True)
def aggregation() -> Iterator[Measurement]:
    """Windows (8 s, 4 s) of 1,000 gem packs: is the rate that must be sustained kept up?"""
    yield from _kept_up("aggregation", "flight", AGGREGATION, streams=1)


@benchmark("flight-join", slow=True, makes_runs=True)
def join() -> Iterator[Measurement]:
    """Purchases and ads joined in windows (8 s, 4 s), at 100,000 a second of each."""
    yield from _kept_up("join", "flight", JOIN, streams=2)


@benchmark("flight-skew", slow=True, makes_runs=True)
def skew() -> Iterator[Measurement]:
    """The aggregation with a single key, at 70 % of the aggregation's rate and more."""
    yield from _kept_up("aggregation", "flight", AGGREGATION, streams=1, keys="single")


@benchmark("kafka-aggregation", slow=True, makes_runs=True)
def over_kafka() -> Iterator[Measurement]:
    """The same aggregation over Kafka."""
    yield from _kept_up("aggregation", "kafka", KAFKA, streams=1)


def _kept_up(
    query: str, transport: str, rate: int, *, streams: int, **parameters: str
) -> Iterator[Measurement]:
    """Count the verdicts that hold at a rate, on Spark and on `noop`."""
    for engine in ("noop", "spark"):
        run = streamgauge.run(
            f"rovio/{query}",
            runs=RUNS,
            engine=engine,
            transport=transport,
            rates=[f"{rate}/s"],
            partitions=_PARTITIONS,
            parameters=parameters,
            **_TIMES,
        )
        (result,) = run.results
        name = ".".join([transport, query, *parameters.values(), engine])
        yield Measurement(f"{name}.rate", float(rate * streams), "1/s", None, None)
        yield from _told(name, result)


def _told(name: str, result: TrialResult) -> Iterator[Measurement]:
    judged = [result.valid, result.kept_up]
    if result.spec.engine != "noop":
        judged.append(result.correct)
    held = sum(verdict.holds is True for verdict in judged)
    yield at_least(f"{name}.verdicts", held, f"of {len(judged)}", len(judged))
    for metric in ("event_latency.p50", "event_latency.p99", "cpu.engine", "cpu.sender"):
        if metric in result.metrics:
            yield Measurement(f"{name}.{metric}", round(result.metrics[metric], 3), "", None, None)


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
