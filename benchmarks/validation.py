"""How long and with how much memory 3,000,000 recorded records are validated."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
from confluent_kafka import Producer

from benchmarks.registry import Measurement, at_most, benchmark
from streamgauge.jobfile import JobSpec
from streamgauge.services.kafka.admin import KafkaAdmin
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.records import Recorded
from streamgauge.transports.kafka.records import KafkaRecords
from streamgauge.validation.session import Session
from streamgauge.validation.validator import validate
from streamgauge.workloads.espbench import sensors
from streamgauge.workloads.espbench.workload import QUERIES

RECORDS = 3_000_000
RING = 500_000
LIMIT_S = {"q1": 60, "q2": 240, "q3": 60, "q4": 60, "q5": 60, "identity": 60}
MEMORY_GB = 2.0
TOPICS = ("sensor1", "times", "q3", "q4")


@benchmark("validation", slow=True)
def validation() -> Iterator[Measurement]:
    """Validate 3,000,000 records of each query; outputs are right, none for q1 and q2."""
    with EmbeddedKafka().up() as kafka, tempfile.TemporaryDirectory() as folder:
        records = _fill(kafka.endpoint)
        records |= {"identity": records["sensor1"]}
        for query in QUERIES:
            tables = _tables(query.name)
            inputs = {query.streams[0]: records["times" if query.name == "q5" else "sensor1"]}
            output = None if query.output == "table" else records.get(query.name, records["none"])
            job = JobSpec(
                workload="espbench",
                query=query.name,
                parameters={},
                partitions=1,
                seed=1,
                options={},
            )
            with Session(Path(folder)) as session, memory() as held:
                spark = session.get()
                found = validate(spark, query, Recorded(inputs, output), tables, job)
            unanswered = query.name in ("q1", "q2")
            assert found.counts.correct == (0 if unanswered else found.counts.expected)
            name = f"validation.{query.name}"
            yield at_most(name, found.seconds, "s", LIMIT_S[query.name])
            yield at_most(f"{name}.memory", held.peak_bytes / 1e9, "GB", MEMORY_GB)


def _fill(endpoint: KafkaEndpoint) -> dict[str, KafkaRecords]:
    """Send the inputs and the outputs of queries that are easily answered."""
    topics = {name: f"validation-{name}" for name in (*TOPICS, "none")}
    KafkaAdmin(endpoint).create([*topics.values()], 1, {})
    lines = sensors.lines(RING, 1, 1)
    cells = np.array([line.split(b"\t", 5)[2:5:2] for line in lines]).astype(np.int64)
    chosen = {
        "sensor1": np.ones(RING, dtype=bool),
        "q3": cells[:, 0] > 14_963,
        "q4": cells[:, 1] < 8_105,
    }
    now_ms = time.time_ns() // 1_000_000
    for name, mask in chosen.items():
        keep = mask.tolist()
        send(
            endpoint,
            topics[name],
            (
                b"%d;%d;%s" % (i, now_ms + i // 10, lines[i % RING])
                for i in range(RECORDS)
                if keep[i % RING]
            ),
        )
    times = (
        b"%d;%d;%d\t%d\t1\t%d" % (i, now_ms, i // 20, i // 2 % 10, i % 2) for i in range(RECORDS)
    )
    send(endpoint, topics["times"], times)
    return {name: KafkaRecords(endpoint, topic) for name, topic in topics.items()}


def send(endpoint: KafkaEndpoint, topic: str, values: Iterator[bytes]) -> None:
    """Send values to the first partition of a topic."""
    producer = Producer(endpoint.client_settings(enable_idempotence=True))
    while group := list(islice(values, 50_000)):
        for value in group:
            producer.produce(topic, value, partition=0)
        producer.flush()


def _tables(query: str) -> Mapping[str, pa.Table]:
    stamp = pa.timestamp("us", tz="UTC")
    if query == "q4":
        nothing = pa.nulls(1, stamp)
        columns = {"wp_id": [1], "wp_downtime_start": nothing, "wp_downtime_end": nothing}
        return {"workplace": pa.table(columns)}
    if query != "q5":
        return {}
    number = np.arange(RECORDS // 2, dtype=np.int32)
    later = pa.array(np.full(len(number), time.time_ns() // 1_000 + 10**6), stamp)
    rows = {
        "pol_o_id": number // 10,
        "pol_ol_number": number % 10,
        "pol_number": np.ones_like(number),
        "pol_i_id": number % 1_000,
        "pol_quantity": number % 7,
        "pol_wp_id": number % 3,
    }
    return {
        f"production_order_line{suffix}": pa.table({**rows, "pol_start_ts": at, "pol_end_ts": at})
        for suffix, at in ((".pristine", pa.nulls(len(number), stamp)), ("", later))
    }


@dataclass
class _Memory:
    peak_bytes: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Note the greatest sum of what this process and its children hold, shared parts once."""
        me = psutil.Process()
        while not self.over.wait(0.5):
            held = sum(_held_bytes([me, *me.children(recursive=True)]))
            self.peak_bytes = max(self.peak_bytes, held)


def _held_bytes(processes: Iterable[psutil.Process]) -> Iterator[int]:
    for each in processes:
        # The broker is no part of the validation.
        with suppress(psutil.Error):
            if "kafka.Kafka" not in each.cmdline():
                yield each.memory_full_info().pss


@contextmanager
def memory() -> Iterator[_Memory]:
    """Tell how much memory is held meanwhile."""
    found = _Memory()
    watcher = threading.Thread(target=found.watch, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        found.over.set()
        watcher.join()
