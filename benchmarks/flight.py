"""How much the harness's own queues give, and what Spark sustains of it; ratios to `noop`.

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
from streamgauge.measure.sustained import decide
from streamgauge.planning import load_workload
from streamgauge.services import runtime
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.trial import TrialSpec
from streamgauge.transports.flight import FlightTransport
from streamgauge.transports.flight.client import QueueClient
from streamgauge.transports.flight.endpoint import FlightEndpoint

RUNS = Path(__file__).parents[1] / "runs"
_PULLED = 20_000_000
_CHUNK = 1_000_000
_PARTITIONS = 2
_TIMES = {"warmup": "60s", "duration": "180s"}
"""As long as a trial of a search."""
AGGREGATION, JOIN, KAFKA = 2_000_000, 100_000, 250_000
"""Events a second and stream that are offered."""


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
        backlog=True,
    )
    endpoint = FlightEndpoint("127.0.0.1", runtime.free_port(), "benchmark")
    names = {"purchases": "purchases"}
    endpoints = Endpoints("flight", endpoint, names, "out", partitions=1, group="")
    sending = FlightTransport().sending(endpoints)
    with TemporaryDirectory() as folder:
        (Path(folder) / "logs").mkdir()
        with Senders.start(spec, endpoints, sending, Path(folder)) as senders:
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
    """Windows (8 s, 4 s) of 1,000 gem packs, at 2,000,000 a second."""
    yield from _sustained("aggregation", "flight", AGGREGATION, least=1_500_000)


@benchmark("flight-join", slow=True, makes_runs=True)
def join() -> Iterator[Measurement]:
    """Purchases and ads joined in windows (8 s, 4 s), at 100,000 a second of each."""
    yield from _sustained("join", "flight", JOIN, least=200_000)


@benchmark("kafka-aggregation", slow=True, makes_runs=True)
def over_kafka() -> Iterator[Measurement]:
    """The same aggregation over Kafka, at 250,000 a second."""
    yield from _sustained("aggregation", "kafka", KAFKA, least=250_000)


def _sustained(query: str, transport: str, rate: int, *, least: int) -> Iterator[Measurement]:
    """Offer Spark a rate for as long as a search does, and `noop` twice as much until it fails.

    Args:
        query: One of the workload's.
        transport: How the records get there.
        rate: Events a second and stream.
        least: What must be sustained, over all streams.
    """
    target, name = f"rovio/{query}", f"{transport}.{query}"
    offered = {"transport": transport, "partitions": _PARTITIONS, "rates": [f"{rate}/s"]}
    ceiling = streamgauge.run(target, runs=RUNS, experiment="ceiling", **offered)
    (result,) = streamgauge.run(target, runs=RUNS, **offered, **_TIMES).results
    decision = decide(result)
    streams = len(load_workload("rovio").queries[query].streams)
    held = rate * streams if decision.outcome == "pass" else 0
    yield at_least(f"{name}.sustained", held, "1/s", least)
    if highest := ceiling.record.answer["ceiling"]:
        yield Measurement(f"{name}.of_noop", rate / float(str(highest)), "ratio", None, None)
    for metric in ("event_latency.p50", "event_latency.p99", "cpu.engine", "cpu.sender"):
        if metric in result.metrics:
            yield Measurement(f"{name}.{metric}", round(result.metrics[metric], 3), "", None, None)


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
