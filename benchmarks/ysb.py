"""The Yahoo streaming benchmark on Spark, with Redis, broker and sender on the same machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import streamgauge
from benchmarks.espbench import p99_outside_checkpoints
from benchmarks.registry import Measurement, at_least, at_most, benchmark
from benchmarks.validation import RECORDS, send
from streamgauge.experiments.search_answer import Searches
from streamgauge.jobfile import JobSpec
from streamgauge.services.kafka.admin import KafkaAdmin
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.spec.form import JSON
from streamgauge.spec.records import Recorded
from streamgauge.transports.kafka.records import KafkaRecords
from streamgauge.validation.session import Session
from streamgauge.validation.validator import validate
from streamgauge.workloads.ysb import Ysb, data
from streamgauge.workloads.ysb.parameters import Parameters
from streamgauge.workloads.ysb.store import READ_MS, WINDOWS

RUNS = Path(__file__).parents[1] / "runs"
SUSTAINED = 100_000
PARTITIONS = 2
"""One for each core: Spark parses a partition in one task."""
VALIDATION_S = 60
REAL_TIME_MS = 25


@benchmark("ysb", slow=True, makes_runs=True)
def sustained() -> Iterator[Measurement]:
    """The highest rate that is held into Redis, in micro-batches: a survey."""
    run = streamgauge.run(
        "ysb/redis",
        runs=RUNS,
        partitions=PARTITIONS,
        experiment="sustainable",
        experiment_options={"survey": True, "after": []},
    )
    assert isinstance(run.answer, Searches)
    (search,) = run.answer.searches
    yield at_least("ysb.redis.sustained", float(search.rate or 0), "1/s", SUSTAINED)


@benchmark("ysb-100k", slow=True, makes_runs=True)
def hundred_thousand() -> Iterator[Measurement]:
    """100,000 events a second into Redis, in micro-batches, for three minutes."""
    run = streamgauge.run(
        "ysb/redis",
        runs=RUNS,
        rates=[f"{SUSTAINED}/s"],
        partitions=PARTITIONS,
        warmup="60s",
        duration="180s",
    )
    (result,) = run.results
    held = sum(each.holds is True for each in (result.valid, result.correct, result.kept_up))
    yield at_least("ysb.redis.100k.verdicts", held, "of 3", 3)
    per_core = SUSTAINED / result.metrics.get("cpu.sender", float("inf"))
    yield at_least("ysb.redis.100k.sender", per_core, "1/s per core", 100_000)
    for metric in (
        "event_latency.p50",
        "event_latency.p99",
        "pre_window_latency.p50",
        "cpu.engine",
    ):
        if metric in result.metrics:
            yield Measurement(f"ysb.redis.100k.{metric}", result.metrics[metric], "", None, None)


@benchmark("ysb-real-time", slow=True, makes_runs=True)
def in_real_time() -> Iterator[Measurement]:
    """20,000 events a second in real-time mode to a topic: from the view that closes a window."""
    run = streamgauge.run(
        "ysb/topic",
        runs=RUNS,
        rates=["20k/s"],
        warmup="60s",
        duration="5m",
        engine_options={"mode": "realtime"},
    )
    (result,) = run.results
    held = sum(each.holds is True for each in (result.valid, result.correct, result.kept_up))
    yield at_least("ysb.topic.realtime.verdicts", held, "of 3", 3)
    p99_ms = 1000 * p99_outside_checkpoints(run, result)
    yield at_most("ysb.topic.realtime.latency.p99-outside-checkpoints", p99_ms, "ms", REAL_TIME_MS)


@benchmark("ysb-validation", slow=True)
def validation() -> Iterator[Measurement]:
    """Validate 3,000,000 events, without a single count."""
    query, parameters = Ysb.queries["redis"], Parameters()
    nothing = WINDOWS.empty_table().replace_schema_metadata({READ_MS: b"0"})
    job = JobSpec(
        workload="ysb",
        query=query.name,
        parameters=parameters.model_dump(mode="json"),
        partitions=1,
        seed=1,
        options={},
    )
    with EmbeddedKafka().up() as kafka, tempfile.TemporaryDirectory() as folder:
        topic = "validation-events"
        KafkaAdmin(kafka.endpoint).create([topic], 1, {})
        send(kafka.endpoint, topic, _events(parameters))
        recorded = Recorded({"events": KafkaRecords(kafka.endpoint, topic)}, None)
        with Session(Path(folder)) as session:
            found = validate(session.get(), query, recorded, {"windows": nothing}, job)
    assert found.inputs == RECORDS
    assert found.counts.missing == found.counts.expected > 0
    yield at_most("ysb.validation", found.seconds, "s", VALIDATION_S)


def _events(parameters: Parameters) -> Iterator[bytes]:
    ring = list(chain.from_iterable(data.payloads(parameters, 1, parameters.ring)))
    now_ms = time.time_ns() // 1_000_000
    for number in range(RECORDS):
        at_ms = now_ms + number // 50
        yield JSON.value(number, at_ms, ring[number % len(ring)] % at_ms)
