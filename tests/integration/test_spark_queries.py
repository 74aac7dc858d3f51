"""ESPBench on a real Spark: outputs are compared with the answers of the recorded input."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from streamgauge.engines.job import ProcessJob
from streamgauge.engines.spark import SparkEngine
from streamgauge.jobfile import JobSpec
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.jobs import Resources
from streamgauge.workloads.espbench import Espbench, sensors
from tests.integration.topics import Topics, client_settings, make_endpoints

pytestmark = [pytest.mark.integration, pytest.mark.spark]

LIMIT_S = 120.0
TABLES = """
CREATE SCHEMA "a test";
SET search_path TO "a test";
CREATE TABLE workplace (
    wp_id integer PRIMARY KEY, wp_downtime_start timestamptz, wp_downtime_end timestamptz);
INSERT INTO workplace VALUES (1, NULL, NULL), (3, NULL, NULL);
CREATE TABLE production_order_line (
    pol_o_id integer, pol_ol_number integer, pol_number integer,
    pol_start_ts timestamptz, pol_end_ts timestamptz,
    PRIMARY KEY (pol_o_id, pol_ol_number, pol_number));
INSERT INTO production_order_line SELECT 1, line, 1, NULL, NULL FROM generate_series(1, 9) line;
"""


@pytest.fixture(scope="module")
def database(postgres: RunningService[PostgresEndpoint]) -> Iterator[PostgresEndpoint]:
    endpoint = replace(postgres.endpoint, schema="a test")
    with psycopg.connect(**endpoint.connection(), autocommit=True) as connection:
        connection.execute(TABLES)
        yield endpoint
        connection.execute('DROP SCHEMA "a test" CASCADE')


@pytest.fixture
def transport(kafka: RunningService[KafkaEndpoint]) -> Iterator[Topics]:
    with Topics(kafka.endpoint) as transport:
        yield transport


@dataclass(frozen=True)
class Bench:
    """A query on Spark, and the hands to feed it."""

    job: ProcessJob
    spec: JobSpec
    endpoints: Endpoints
    transport: Topics
    folder: Path

    def send(self, stream: str, payloads: Sequence[bytes], first: int = 0) -> None:
        streams = list(self.endpoints.inputs)
        producer = Producer(client_settings(self.endpoints, enable_idempotence=True))
        for number, payload in enumerate(payloads, first):
            record = number * len(streams) + streams.index(stream)
            value = b"%d;%d;%s" % (record, time.time() * 1000, payload)
            partition = number % self.endpoints.partitions
            producer.produce(self.endpoints.inputs[stream], value, partition=partition)
        assert producer.flush(30) == 0

    def wait(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not holds():
            assert self.job.failure() is None, self.job.failure()
            assert time.monotonic() < deadline, f"{what} did not come"
            time.sleep(0.05)

    def drained(self) -> bool:
        ends = {
            (stream, partition): end
            for stream, topic in self.endpoints.inputs.items()
            for partition, end in enumerate(self.transport.log_end(topic))
        }
        progress = self.job.progress()
        return progress is not None and progress.idle and progress.finished == ends

    def outputs(self) -> int:
        assert self.endpoints.output is not None
        return sum(self.transport.log_end(self.endpoints.output))

    def send_at(self, times_ms: Sequence[tuple[int, int]]) -> None:
        """Send records of the first stream with these partitions and append times."""
        (topic,) = self.endpoints.inputs.values()
        kept = ConfigEntry(
            "message.timestamp.type", "CreateTime", incremental_operation=AlterConfigOpType.SET
        )
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[kept])
        admin = AdminClient(client_settings(self.endpoints))
        admin.incremental_alter_configs([resource])[resource].result(10)
        producer = Producer(client_settings(self.endpoints, enable_idempotence=True))
        for number, (partition, at_ms) in enumerate(times_ms):
            value = b"%d;%d;%s" % (number, at_ms, sensors.lines(1, 1, seed=number)[0])
            producer.produce(topic, value, partition=partition, timestamp=at_ms)
        assert producer.flush(30) == 0

    def records(self, topic: str) -> pa.Table:
        missing = sum(self.transport.log_end(topic))
        rows = []
        with self.transport.tail(topic, [0] * self.endpoints.partitions) as tail:
            while len(rows) < missing:
                rows += tail.read()
        rows.sort(key=lambda record: (record.partition, record.offset))
        return pa.table(
            {
                "partition": pa.array([row.partition for row in rows], pa.int32()),
                "offset": pa.array([row.offset for row in rows], pa.int64()),
                "timestamp": pa.array([row.timestamp_ms for row in rows], pa.int64()),
                "value": pa.array([row.value for row in rows], pa.binary()),
            }
        )

    def check_answers(self, tables: Mapping[str, pa.Table] | None = None) -> None:
        """Compare all outputs with the answers: each expected one once, and no other."""
        answers = Espbench.queries[self.spec.query].answers
        ranges = [
            records.filter(pc.equal(records["partition"], partition))
            for records in map(self.records, self.endpoints.inputs.values())
            for partition in range(self.endpoints.partitions)
        ]
        newest = max(pc.max(records["timestamp"]).as_py() for records in ranges)
        by_records = self.spec.closed_by_records
        context = AnswerContext(
            {},
            newest - (0 if by_records else self.spec.watermark_delay_ms),
            tables or {},
            closed_by=self.endpoints.partitions if by_records else 0,
        )
        expected = pa.concat_tables([answers.expected(records, context) for records in ranges])
        if answers.merges:
            expected = answers.merge(expected, context)
        assert self.endpoints.output is not None
        outputs = answers.outputs(self.records(self.endpoints.output)).sort_by("key")
        required = expected.filter(pc.invert(expected["optional"])).sort_by("key")
        assert len(required) > 0
        assert outputs["key"].to_pylist() == required["key"].to_pylist()
        assert answers.agree(required, outputs).all()


BenchMaker = Callable[..., Bench]


@pytest.fixture
def start(transport: Topics, tmp_path: Path) -> Iterator[BenchMaker]:
    benches: list[Bench] = []

    def make(
        query: str, database: PostgresEndpoint | None = None, partitions: int = 1, **options: str
    ) -> Bench:
        kind = Espbench.queries[query]
        output = kind.output == "topic"
        endpoints = make_endpoints(
            transport.endpoint,
            *kind.streams,
            partitions=partitions,
            output=output,
            postgres=database,
        )
        transport.create(endpoints)
        engine = SparkEngine()
        spec = engine.resolve(
            JobSpec(
                workload="espbench",
                query=query,
                parameters={},
                partitions=partitions,
                seed=1,
                options=options,
                least_rate=1000.0,
            )
        )
        cpus = Resources(tuple(os.sched_getaffinity(0)))
        job = engine.start(spec, endpoints, cpus, tmp_path)
        benches.append(Bench(job, spec, endpoints, transport, tmp_path))
        return benches[-1]

    yield make
    for bench in benches:
        bench.job.kill()
        transport.delete(bench.endpoints)


def lines(count: int, workplace: int = 1) -> list[bytes]:
    return sensors.lines(count, workplace, seed=5)


@pytest.mark.parametrize(
    "mode", ["microbatch", pytest.param("continuous", marks=pytest.mark.thorough)]
)
def test_q3_finds_errors_in_every_mode_and_ends_without_a_word(
    start: BenchMaker, mode: str
) -> None:
    bench = start("q3", partitions=2, mode=mode)
    bench.send("sensor1", [*lines(20_000), sensors.marker(), sensors.marker()])
    errors = sum(int(line.split(b"\t")[2]) > 14_963 for line in lines(20_000)) + 2
    bench.wait("the last output", lambda: bench.outputs() >= errors)
    root = psutil.Process(bench.job.processes()[0])
    processes = [root, *root.children(recursive=True)]
    bench.job.stop()
    assert "ended with exit code 0" in str(bench.job.failure())
    assert " ERROR " not in str(bench.job.failure())
    assert psutil.wait_procs(processes, timeout=20)[1] == []
    bench.check_answers()


BEGIN_MS = 1_700_000_000_000
GAPS: Mapping[str, Sequence[tuple[int, Sequence[int]]]] = {
    "the log begins in the middle of a second, with ties at an edge": [
        (partition, [700, 800, 1000, 1000, 1999, 2000]) for partition in range(3)
    ],
    "one partition stops for a while": [
        (0, range(3000, 9000, 100)),
        (1, range(3050, 9000, 100)),
        (2, [3020, 4999, 5000, 8000, 8999]),
    ],
    "a second is empty": [(partition, [11_000 + partition, 12_000]) for partition in range(3)],
    "the end": [(partition, [13_000, 13_500]) for partition in range(3)],
}


@pytest.mark.parametrize(
    "mode", ["realtime", pytest.param("microbatch", marks=pytest.mark.thorough)]
)
def test_q1_answers_each_second_once_whatever_closes_it(start: BenchMaker, mode: str) -> None:
    """The same log in both modes: what real time lets out is right, and what it cannot is known."""
    bench = start("q1", partitions=3, mode=mode)
    sent = [(part, at_ms) for parts in GAPS.values() for part, times in parts for at_ms in times]
    bench.send_at([(part, BEGIN_MS + at_ms) for part, at_ms in sent])
    # Seconds 5, 6 and 8 have no record after them in partition 2, or in any.
    closed = [0, 1, 2, 3, 4, 7, 11, 12] if mode == "realtime" else [*range(9), 11, 12]
    bench.wait("the last second", lambda: bench.outputs() >= len(closed))
    bench.check_answers()
    assert bench.outputs() == len(closed)


def test_q5_sets_each_time_once_even_when_records_come_again_and_java_ends_with_its_job(
    start: BenchMaker, database: PostgresEndpoint
) -> None:
    bench = start("q5", database, partitions=2)
    events = [b"1\t%d\t1\t%d" % (line, is_end) for line in (1, 2, 3) for is_end in (0, 1)]
    bench.send("times", events[:5])
    bench.wait("the end of the input", bench.drained)
    first = written(database)
    bench.send("times", [*events, b"1\t9\t1\t1"])
    bench.wait("the end of the input", bench.drained)
    second = written(database)
    assert {line for line, (start_ts, _) in second.items() if start_ts} == {1, 2, 3}
    assert {line for line, (_, end_ts) in second.items() if end_ts} == {1, 2, 3, 9}
    assert {line: second[line] for line in (1, 2)} == {line: first[line] for line in (1, 2)}
    assert second[3][0] == first[3][0]
    root = psutil.Process(bench.job.processes()[0])
    children = root.children(recursive=True)
    assert "java" in {child.name() for child in children}
    os.kill(root.pid, signal.SIGKILL)
    assert psutil.wait_procs(children, timeout=20)[1] == []


def written(database: PostgresEndpoint) -> dict[int, tuple[object, object]]:
    with psycopg.connect(**database.connection()) as connection:
        rows = connection.execute(
            'SELECT pol_ol_number, pol_start_ts, pol_end_ts FROM "a test".production_order_line'
        )
        return {line: (start_ts, end_ts) for line, start_ts, end_ts in rows}


def test_the_password_stays_out_of_files_and_arguments(
    start: BenchMaker, database: PostgresEndpoint
) -> None:
    bench = start("q4", database)
    bench.send("sensor1", [sensors.marker()])
    bench.wait("the answer to the marker", lambda: bench.outputs() == 1)
    root = psutil.Process(bench.job.processes()[0])
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # ended meanwhile, or a zombie
            assert not [word for word in process.cmdline() if database.password in word]
    secret = database.password.encode()
    files = [path for path in bench.folder.rglob("*") if path.is_file()]
    assert bench.folder / "job.json" in files
    assert [path for path in files if secret in path.read_bytes()] == []
    bench.job.stop()
    bench.job.clean()
    assert not (bench.folder / "scratch").exists()


def test_a_query_that_fails_ends_the_job_with_the_reason(start: BenchMaker) -> None:
    bench = start("q3")
    bench.send("sensor1", [b"a\tb\tno number\td\te"])
    deadline = time.monotonic() + LIMIT_S
    while bench.job.failure() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "ended with exit code 1" in str(bench.job.failure())
    assert "CAST_INVALID_INPUT" in str(bench.job.failure())
