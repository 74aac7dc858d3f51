"""Theodolite's use cases on Spark, with broker and sender on the same machine."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.held import holds, sustained
from benchmarks.registry import Measurement, at_least, at_most, benchmark
from benchmarks.validation import MEMORY_GB, RECORDS, memory, send
from streamgauge.jobfile import JobSpec
from streamgauge.services.kafka.admin import KafkaAdmin
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.answers import AnswerContext, Answers, AnswersInGroups
from streamgauge.spec.form import JSON
from streamgauge.spec.records import Recorded
from streamgauge.transports.kafka.records import KafkaRecords
from streamgauge.validation import plan, tasks
from streamgauge.validation.session import Session
from streamgauge.validation.validator import validate
from streamgauge.workloads.theodolite import data
from streamgauge.workloads.theodolite.answers import Stored
from streamgauge.workloads.theodolite.parameters import Parameters
from streamgauge.workloads.theodolite.queries import BY_NAME

SUSTAINED = {
    "uc2": ({"sensors": 10_000, "window": "10s"}, 100_000),
    "uc4-single": ({"children": 4, "levels": 5, "window": "5s"}, 50_000),
}
"""Parameters, and records per second that are to be held."""
VALIDATED: dict[str, dict[str, Any]] = {
    "uc1-topic": {},
    "uc2": {"sensors": 10_000},
    "uc3-final": {"sensors": 10_000},
    "uc3-update": {"sensors": 10_000, "window": "5s", "slide": "1s"},
    "uc4-single": {"levels": 5},
}
VALIDATION_S = 120
_PER_MS = 10
"""Records of the validation in a millisecond."""
_BUCKETS = 60


@benchmark("theodolite", slow=True, makes_runs=True)
def limits() -> Iterator[Measurement]:
    """The highest rates that are held in micro-batches: surveys."""
    for query, (parameters, target) in SUSTAINED.items():
        rate = sustained(f"theodolite/{query}", parameters)
        yield at_least(f"theodolite.{query}.sustained", rate, "1/s", target)


@benchmark("theodolite-held", slow=True, makes_runs=True)
def held() -> Iterator[Measurement]:
    """Whether those rates are held, one trial each."""
    for query, (parameters, target) in SUSTAINED.items():
        yield from holds(f"theodolite/{query}", target, parameters)


@benchmark("theodolite-validation", slow=True)
def validation() -> Iterator[Measurement]:
    """Validate 3,000,000 records of each query with all outputs, which are right."""
    with EmbeddedKafka().up() as kafka, tempfile.TemporaryDirectory() as folder:
        for query, given in VALIDATED.items():
            yield from _validated(kafka.endpoint, Path(folder), query, Parameters(**given))


def _validated(
    endpoint: KafkaEndpoint, folder: Path, name: str, parameters: Parameters
) -> Iterator[Measurement]:
    topics = [f"validation-{name}-{what}" for what in ("records", "out")]
    admin = KafkaAdmin(endpoint)
    admin.create(topics, 1, {})
    # In a process of its own, whose memory is none of the validation's.
    filler = get_context("spawn").Process(
        target=_fill, args=(endpoint, topics, name, parameters, RECORDS)
    )
    filler.start()
    filler.join()
    inputs, outputs = (KafkaRecords(endpoint, topic) for topic in topics)
    job = JobSpec(
        workload="theodolite",
        query=name,
        parameters=parameters.model_dump(mode="json"),
        partitions=1,
        seed=1,
        options={},
    )
    with Session(folder) as session, memory() as held:
        recorded = Recorded({"records": inputs}, outputs)
        found = validate(session.get(), BY_NAME[name], recorded, {}, job)
    admin.delete(topics)
    assert found.inputs == RECORDS
    assert found.counts.correct == found.counts.expected == found.counts.outputs > 0
    yield at_most(f"theodolite.validation.{name}", found.seconds, "s", VALIDATION_S)
    held_gb = held.peak_bytes / 1e9
    yield at_most(f"theodolite.validation.{name}.memory", held_gb, "GB", MEMORY_GB)


def _fill(
    endpoint: KafkaEndpoint, topics: list[str], name: str, parameters: Parameters, records: int
) -> None:
    """Send the records of a query, and the right answers to them."""
    inputs, outputs = topics
    send(endpoint, inputs, _records(parameters, name, records))
    answers = BY_NAME[name].answers
    known = AnswerContext(parameters.model_dump(mode="json"), 2**62, {})
    for partials in _in_buckets(answers, KafkaRecords(endpoint, inputs), known):
        found = answers.merge(partials, known) if answers.merges else partials
        pairs = zip(found["key"].to_pylist(), found["value"].to_pylist(), strict=True)
        whole = isinstance(answers, Stored)
        lines = (value if whole else b"%b,%b" % (key.encode(), value) for key, value in pairs)
        send(endpoint, outputs, lines)


def _records(parameters: Parameters, query: str, records: int) -> Iterator[bytes]:
    sensors = parameters.sensors_of(query, 1000.0 * _PER_MS)
    size = data.size(sensors, parameters, records)
    ring = list(chain.from_iterable(data.payloads(parameters, sensors, 1, size)))
    now_ms = time.time_ns() // 1_000_000
    for number in range(records):
        at_ms = now_ms + number // _PER_MS
        yield JSON.value(number, at_ms, ring[number % size] % at_ms)


def _in_buckets(
    answers: Answers, records: KafkaRecords, known: AnswerContext
) -> Iterator[pa.Table]:
    """Yield what belongs together, some of it at a time."""
    pieces: dict[int, list[pa.Table]] = defaultdict(list)
    for each in plan.ranges({"records": records.extent()}, answers.aligned):
        batches = records.read(each.partition, each.start, each.stop)
        partials = answers.expected(pa.Table.from_batches(batches), known)
        keys = answers.groups(partials["key"]) if isinstance(answers, AnswersInGroups) else None
        for batch in tasks.in_buckets("expected", partials, _BUCKETS, keys):
            pieces[batch["bucket"][0].as_py()].append(tasks.unpack(batch["table"][0]))
    yield from (pa.concat_tables(tables) for tables in pieces.values())
