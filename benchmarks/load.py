"""How fast and how punctual the sender is, beside Kafka's own load tool on the same broker.

Records of some 205 bytes, one partition, acks=1, an embedded broker on the same machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

from benchmarks.registry import Measurement, at_least, at_most, benchmark
from streamgauge.load.protocol import SenderJob, SenderSummary
from streamgauge.load.senders import Senders
from streamgauge.planning import load_workload
from streamgauge.services import jars
from streamgauge.services.endpoints import write_endpoints
from streamgauge.services.java import ENVIRONMENT, find_java
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.starting import all_up
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.offering import Sending
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.transports.kafka import KafkaTransport
from streamgauge.workloads.espbench import sensors

ACKS_1 = LoadSpec(acks="1", idempotence=False)
_RECORDS = 3_000_000
_BYTES = 205
_ROUNDS = 3
_STREAMED = 4_000_000
_REPEATED = 100_000
_RENDER = """
import sys
from streamgauge.load import render
render.main(sys.argv)
print(open("/proc/self/status").read())
"""
_REACHED = re.compile(r"records sent, ([0-9.]+) records/sec")


@dataclass(frozen=True)
class _Sent:
    summary: SenderSummary
    reached: float
    """Acknowledged records per second, without the first and the last second."""
    memory_mb: float
    """Greatest resident memory of the sender."""


@benchmark("load-unpaced", slow=True)
def unpaced() -> Iterator[Measurement]:
    """As fast as it goes from one process, against Kafka's ProducerPerformance."""
    with _broker() as kafka:
        _producer_performance(kafka)  # for the broker's JIT; both find it warm
        pairs = [
            (_producer_performance(kafka), _send(kafka, _spec(2e6, 6.0)).reached)
            for _ in range(_ROUNDS)
        ]
    theirs, ours = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    yield Measurement("load.producer_performance", round(theirs), "1/s", None, None)
    yield Measurement("load.unpaced", round(ours), "1/s", None, None)
    ratio = median(ours / theirs for theirs, ours in pairs)
    yield at_least("load.unpaced_ratio", ratio, "×", 1.5)


@benchmark("load-paced", slow=True)
def paced() -> Iterator[Measurement]:
    """What is sent of 450,000/s, and how late 250,000/s and 10,000/s are sent."""
    with _broker() as kafka:
        _send(kafka, _spec(100_000.0, 20.0))  # for the broker's JIT
        most = _send(kafka, _spec(450_000.0, 60.0)).summary
        many = _send(kafka, _spec(250_000.0, 60.0)).summary
        few = _send(kafka, _spec(10_000.0, 60.0)).summary
    share = 100 * most.acknowledged / most.due
    yield at_least("load.450k.sent", share, "%", 99)
    yield at_most("load.250k.send_lateness.p99", 1000 * many.send_lateness["p99"], "ms", 5)
    yield at_most("load.10k.send_lateness.p99", 1000 * few.send_lateness["p99"], "ms", 1.5)
    yield at_most("load.10k.cpu", few.cpu_s / 60, "cores", 0.1)


@benchmark("load-memory", slow=True)
def memory() -> Iterator[Measurement]:
    """Memory of what renders and of what streams 4,000,000 payloads: synthetic, and of a file."""
    with _broker() as kafka, TemporaryDirectory() as folder:
        recording = Path(folder) / "recording.txt"
        _write_recording(recording)
        for name, file in (("stream", None), ("stream.file", str(recording))):
            spec = _spec(
                rate=200_000.0,
                duration_s=21.0,
                load=ACKS_1.model_copy(update={"source": "stream"}),
                ring=_STREAMED,
                sensors=file,
            )
            yield at_most(f"load.{name}.render.memory", _render_mb(spec), "MB", 200)
            sent = _send(kafka, spec)
            yield at_most(f"load.{name}.memory", sent.memory_mb, "MB", 200)
            share = 100 * sent.summary.acknowledged / sent.summary.due
            yield at_least(f"load.{name}.200k.sent", share, "%", 99)


@contextmanager
def _broker() -> Iterator[KafkaEndpoint]:
    with all_up([EmbeddedKafka()]) as running:
        yield KafkaEndpoint.of(running["kafka"].endpoint)


@contextmanager
def _topic(kafka: KafkaEndpoint) -> Iterator[Endpoints]:
    name = f"bench-{time.time_ns()}"
    endpoints = _endpoints(kafka, name)
    with KafkaTransport().open(endpoints) as channel:
        channel.create(forgets=True)
        yield endpoints
        channel.delete()


def _endpoints(kafka: KafkaEndpoint, topic: str) -> Endpoints:
    return Endpoints("kafka", kafka, {"sensor1": topic}, None, partitions=1, group=topic)


def _spec(
    rate: float, duration_s: float, load: LoadSpec = ACKS_1, **parameters: object
) -> TrialSpec:
    chosen = load_workload("espbench").parameters(**parameters).model_dump(mode="json")
    return TrialSpec(
        number=1,
        workload="espbench",
        query="q1",
        parameters=chosen,
        engine="noop",  # as in a trial of an engine: no statistics of the client are taken
        rate=rate,
        duration_s=duration_s,
        warmup_s=0.0,
        tail_s=0.0,
        load=load,
    )


def _send(kafka: KafkaEndpoint, spec: TrialSpec) -> _Sent:
    """Send with the sender's own process, as a trial does."""
    with (
        TemporaryDirectory() as folder,
        _topic(kafka) as endpoints,
        Senders.start(spec, endpoints, Sending(), Path(folder)) as sender,
    ):
        sender.ready(120)
        sender.begin(time.time_ns() // 1_000_000 + 500)
        while not sender.finished:
            time.sleep(0.2)
        (pid,) = sender.pids
        memory_mb = _peak_mb(Path(f"/proc/{pid}/status").read_text())
        summary = sender.finish()
        return _Sent(summary, _steady_rate(Path(folder) / "sender.parquet"), memory_mb)


def _steady_rate(ticks: Path) -> float:
    rows = pq.read_table(ticks)
    at_s = rows["at_ms"].to_numpy() / 1000
    done = rows["sent"].to_numpy() - rows["outstanding"].to_numpy()
    inside = np.flatnonzero((at_s >= at_s[0] + 1) & (at_s <= at_s[-1] - 1))
    first, last = inside[0], inside[-1]
    return float((done[last] - done[first]) / (at_s[last] - at_s[first]))


def _write_recording(path: Path) -> None:
    """Write a sensor file of as many lines as are streamed."""
    lines = [line.rpartition(b"\t")[0] + b"\n" for line in sensors.lines(_REPEATED, 1, 1)]
    with path.open("wb") as file:
        for _ in range(_STREAMED // _REPEATED):
            file.writelines(lines)


def _render_mb(spec: TrialSpec) -> float:
    """Render the payloads to files, as a trial does, and return what memory that took."""
    with TemporaryDirectory() as folder:
        job = SenderJob(
            spec=spec,
            endpoints=write_endpoints(_endpoints(KafkaEndpoint(""), "")),
            ticks=Path(folder) / "sender.parquet",
            payloads=Path(folder) / "payloads",
        )
        path = Path(folder) / "render.json"
        path.write_text(job.model_dump_json())
        done = subprocess.run(
            [sys.executable, "-c", _RENDER, path], capture_output=True, text=True, check=True
        )
    return _peak_mb(done.stdout)


def _peak_mb(status: str) -> float:
    """Return the greatest resident memory, from what the kernel tells of a process."""
    kilobytes = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert kilobytes is not None
    return int(kilobytes[1]) * 1024 / 1e6


def _producer_performance(kafka: KafkaEndpoint) -> float:
    """Run Kafka's own load tool; return the records per second that it tells."""
    with _topic(kafka) as endpoints:
        class_path = os.pathsep.join(str(path) for path in jars.ensure("kafka"))
        done = subprocess.run(
            [
                *(find_java().executable, "-Xmx512m", "-cp", class_path),
                *("org.apache.kafka.tools.ProducerPerformance",),
                *("--topic", endpoints.inputs["sensor1"], "--num-records", str(_RECORDS)),
                *("--record-size", str(_BYTES), "--throughput", "-1"),
                *("--bootstrap-server", kafka.bootstrap),
                *("--command-property", "acks=1", "linger.ms=5", "batch.size=65536"),
            ],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **ENVIRONMENT},
        )
    return float(_REACHED.findall(done.stdout)[-1])
