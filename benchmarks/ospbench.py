"""OSPBench on Spark, with broker and sender on the same machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

import streamgauge
from benchmarks.espbench import p99_outside_checkpoints
from benchmarks.held import holds, sustained, verdicts
from benchmarks.registry import Measurement, at_least, at_most, benchmark
from benchmarks.validation import MEMORY_GB, RECORDS, memory, send
from streamgauge.jobfile import JobSpec
from streamgauge.services.kafka.admin import KafkaAdmin
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.form import JSON
from streamgauge.spec.records import Recorded
from streamgauge.transports.kafka.records import KafkaRecords
from streamgauge.validation.plan import READ, Range, ranges
from streamgauge.validation.session import Session
from streamgauge.validation.validator import validate
from streamgauge.workloads.ospbench import Ospbench, data
from streamgauge.workloads.ospbench.parameters import Parameters

RUNS = Path(__file__).parents[1] / "runs"
REAL_TIME_MS = 25
STAGE3, STAGE100 = 40_000, 100_000
"""Records a second over all streams, as they were published."""
VALIDATION_S = 120
LANES = 10_000


@benchmark("ospbench-real-time", slow=True, makes_runs=True)
def in_real_time() -> Iterator[Measurement]:
    """What can be answered in real-time mode, at 2 × 5,000 records a second."""
    run = streamgauge.run(
        "ospbench/stage0,stage1,stage2,stage5,stage6",
        runs=RUNS,
        rates=["5k/s"],
        warmup="45s",
        duration="75s",
        engine_options={"mode": "realtime"},
    )
    for result in run.results:
        name = f"ospbench.{result.spec.query}.realtime"
        yield verdicts(name, result)
        p99_ms = 1000 * p99_outside_checkpoints(run, result)
        yield at_most(f"{name}.latency.p99-outside-checkpoints", p99_ms, "ms", REAL_TIME_MS)
        p999_ms = 1000 * result.metrics["latency.p99_9"]
        yield Measurement(f"{name}.latency.p99_9", p999_ms, "ms", None, None)


@benchmark("ospbench-held", slow=True, makes_runs=True)
def held() -> Iterator[Measurement]:
    """Whether the rates that a search is to find are held, one trial each."""
    for stage, rate, streams in (("stage3", STAGE3, 2), ("stage100", STAGE100, 1)):
        yield from holds(f"ospbench/{stage}", rate / streams, {})


@benchmark("ospbench-stage3", slow=True, makes_runs=True)
def stage3() -> Iterator[Measurement]:
    """The highest rate of joining and summing up, both streams together: a survey."""
    yield at_least("ospbench.stage3.sustained", 2 * sustained("ospbench/stage3"), "1/s", STAGE3)


@benchmark("ospbench-stage100", slow=True, makes_runs=True)
def stage100() -> Iterator[Measurement]:
    """The highest rate of windows of 60 s every 12 s: a survey."""
    yield at_least("ospbench.stage100.sustained", sustained("ospbench/stage100"), "1/s", STAGE100)


@benchmark("ospbench-validation", slow=True)
def validation() -> Iterator[Measurement]:
    """Validate 3,000,000 records of each stage, with the outputs of all of them."""
    with EmbeddedKafka().up() as kafka, tempfile.TemporaryDirectory() as folder:
        for stage, query in Ospbench.queries.items():
            inputs = {
                stream: _sent(kafka.endpoint, stage, stream, number, len(query.streams))
                for number, stream in enumerate(query.streams)
            }
            job = JobSpec(
                workload="ospbench",
                query=stage,
                parameters=Parameters().model_dump(mode="json"),
                partitions=1,
                seed=1,
                options={},
            )
            output = _answered(kafka.endpoint, stage, inputs, job)
            with Session(Path(folder)) as session, memory() as held:
                found = validate(session.get(), query, Recorded(inputs, output), {}, job)
            assert found.inputs == RECORDS
            assert found.counts.correct == found.counts.expected > 0
            yield at_most(f"ospbench.{stage}.validation", found.seconds, "s", VALIDATION_S)
            peak_gb = held.peak_bytes / 1e9
            yield at_most(f"ospbench.{stage}.validation.memory", peak_gb, "GB", MEMORY_GB)


def _sent(
    endpoint: KafkaEndpoint, stage: str, stream: str, number: int, streams: int
) -> KafkaRecords:
    """Send a stream's share of the records."""
    topic = f"validation-{stage}-{stream}"
    KafkaAdmin(endpoint).create([topic], 1, {})
    send(endpoint, topic, _records(stream, number, streams))
    return KafkaRecords(endpoint, topic)


def _records(stream: str, number: int, streams: int) -> Iterator[bytes]:
    ring = [*data.Ring(stream, data.lanes(LANES, 1), 1, 10 * LANES).payloads()]
    now_ms, count = time.time_ns() // 1_000_000 // 1000 * 1000, RECORDS // streams
    lanes = len(ring[0])
    for record in range(count):
        second, lane = divmod(record, lanes)
        at_ms = now_ms + 1000 * second + 1000 * lane // lanes
        payload = ring[second % len(ring)][lane] % data.written(at_ms)
        yield JSON.value(number + streams * record, at_ms, payload)


def _answered(
    endpoint: KafkaEndpoint, stage: str, inputs: Mapping[str, KafkaRecords], job: JobSpec
) -> KafkaRecords:
    """Send the right outputs."""
    answers, context = Ospbench.queries[stage].answers, AnswerContext(job.parameters, 2**62, {})
    extents = {stream: records.extent() for stream, records in inputs.items()}
    partials = [
        answers.expected(_read(inputs[part.source], part), context)
        for part in ranges(extents, answers.aligned, READ.range)
    ]
    values = answers.merge(pa.concat_tables(partials), context)["value"]
    topic = f"validation-{stage}-out"
    KafkaAdmin(endpoint).create([topic], 1, {})
    send(endpoint, topic, (value.as_py() for value in values))
    return KafkaRecords(endpoint, topic)


def _read(records: KafkaRecords, part: Range) -> pa.Table:
    batches = records.read(part.partition, part.start, part.stop)
    return pa.Table.from_batches(batches).combine_chunks()
