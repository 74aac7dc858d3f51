"""Our own engines as processes, with a real broker and a real database."""

import shlex
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import psycopg
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from psycopg import sql

from streamgauge import registry
from streamgauge.engines.job import ProcessJob
from streamgauge.jobfile import JobSpec
from streamgauge.measure.columns import RECORDS
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.engine import Engine
from streamgauge.spec.jobs import Progress, Resources
from streamgauge.spec.records import Record
from streamgauge.workloads.espbench import database, ddl
from streamgauge.workloads.espbench.schema import TABLES
from streamgauge.workloads.espbench.workload import Espbench
from tests.integration.topics import Topics, client_settings, make_endpoints

pytestmark = pytest.mark.integration

LINE = "2012-02-22T16:46:00.0000000+00:00\t{index}\t{mf01}\t14400\t{mf03}\t" + "0\t" * 51
EXAMPLE = Path(__file__).parents[2] / "docs" / "engines" / "example_engine.py"


@pytest.fixture
def transport(kafka: RunningService[KafkaEndpoint]) -> Iterator[Topics]:
    with Topics(kafka.endpoint) as transport:
        yield transport


@dataclass
class Bench:
    """One engine's job with its topics."""

    transport: Topics
    folder: Path
    endpoints: Endpoints

    def start(self, engine: str, query: str, **options: str) -> ProcessJob:
        self.transport.create(self.endpoints)
        made = cast("type[Engine]", registry.load("engines", engine))()
        job = made.resolve(
            JobSpec(
                workload="espbench",
                query=query,
                parameters={},
                partitions=self.endpoints.partitions,
                seed=1,
                options=options,
            )
        )
        return cast("ProcessJob", made.start(job, self.endpoints, Resources((0, 1)), self.folder))

    def send(self, stream: str, payloads: Sequence[str]) -> None:
        producer = Producer(client_settings(self.endpoints))
        for number, payload in enumerate(payloads):
            value = f"{number};{number + 1};{payload}"
            partition = number % self.endpoints.partitions
            producer.produce(self.endpoints.inputs[stream], value, partition=partition)
        assert producer.flush(10) == 0

    def outputs(self, count: int) -> list[Record]:
        """Wait for so many outputs and return all that are there."""
        assert self.endpoints.output is not None
        return self._read(self.endpoints.output, count)

    def read(self, stream: str, count: int) -> list[Record]:
        """Read an input back, in log order."""
        records = self._read(self.endpoints.inputs[stream], count)
        return sorted(records, key=lambda record: (record.partition, record.offset))

    def _read(self, topic: str, count: int) -> list[Record]:
        records: list[Record] = []
        with self.transport.tail(topic, [0] * self.endpoints.partitions) as tail:
            deadline = time.monotonic() + 30
            while len(records) < count and time.monotonic() < deadline:
                records += tail.read(0.2)
        return records


@pytest.fixture
def bench(transport: Topics, tmp_path: Path) -> Bench:
    return Bench(transport, tmp_path, make_endpoints(transport.endpoint, partitions=2))


def await_idle(job: ProcessJob, finished: dict[tuple[str, int], int]) -> Progress:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert job.failure() is None, job.failure()
        progress = job.progress()
        if progress and progress.idle and progress.finished == finished:
            return progress
        time.sleep(0.02)
    raise AssertionError(f"the engine did not get to {finished}: {job.progress()}")


def sensor_lines(count: int) -> list[str]:
    """Make lines of which every fifth is above q3's limit."""
    lines = [
        LINE.format(index=i, mf01=(15_000 if i % 5 == 0 else 10_000) + 37 * i % 4001, mf03=8000 + i)
        for i in range(count)
    ]
    return [line + "1" for line in lines]


def test_noop_reads_everything_and_says_so(bench: Bench) -> None:
    with bench.start("noop", "q3") as job:
        bench.send("sensor1", sensor_lines(101))
        await_idle(job, {("sensor1", 0): 51, ("sensor1", 1): 50})
        job.stop()
        assert "exit code 0" in (job.failure() or "")


def test_reference_answers_and_reports(bench: Bench) -> None:
    with bench.start("reference", "q3") as job:
        bench.send("sensor1", sensor_lines(100))
        await_idle(job, {("sensor1", 0): 50, ("sensor1", 1): 50})
        found = sorted(int(output.value.split(b";")[0]) for output in bench.outputs(20))
    assert found == list(range(0, 100, 5))
    assert "exit code 0" in (job.failure() or "")


@pytest.mark.parametrize(("query", "count"), [("q1", 400), ("q2", 1000)])
def test_reference_outputs_of_windows_agree_with_the_answers(
    bench: Bench, query: str, count: int
) -> None:
    answers = Espbench.queries[query].answers
    with bench.start("reference", query) as job:
        bench.send("sensor1", sensor_lines(count))
        await_idle(job, {("sensor1", p): count // 2 for p in range(2)})
        expected = expected_rows(query, bench.read("sensor1", count))
        outputs = answers.outputs(table(bench.outputs(len(expected))))
    rows = {key: row for row, key in enumerate(outputs["key"].to_pylist())}
    keys = expected["key"].to_pylist()
    assert len(keys) > 0
    assert sorted(rows) == sorted(keys)
    assert answers.agree(expected, outputs.take([rows[key] for key in keys])).all()


def expected_rows(query: str, records: list[Record]) -> pa.Table:
    answers = Espbench.queries[query].answers
    context = AnswerContext(parameters={}, horizon_ms=2**62, tables={})
    parts = [
        answers.expected(table([r for r in records if r.partition == partition]), context)
        for partition in range(2)
    ]
    return answers.merge(pa.concat_tables(parts), context)


def table(records: list[Record]) -> pa.Table:
    columns = {
        "partition": [record.partition for record in records],
        "offset": [record.offset for record in records],
        "timestamp": [record.timestamp_ms for record in records],
        "value": [record.value for record in records],
    }
    return pa.table(columns, schema=RECORDS)


def test_reference_dies_on_demand(bench: Bench) -> None:
    with bench.start("reference", "q3", fault="die:3") as job:
        bench.send("sensor1", sensor_lines(100))
        while job.failure() is None:
            time.sleep(0.02)
        assert "exit code 1" in (job.failure() or "")
        assert len(bench.outputs(3)) == 3


def test_reference_hangs_on_demand_and_still_stops(bench: Bench) -> None:
    with bench.start("reference", "q3", fault="hang:3") as job:
        bench.send("sensor1", sensor_lines(100))
        assert len(bench.outputs(3)) == 3
        assert job.failure() is None
        job.stop()
        assert "exit code 0" in (job.failure() or "")


def test_the_example_of_the_documentation_answers_q3(bench: Bench) -> None:
    command = shlex.join([sys.executable, str(EXAMPLE)])
    with bench.start("command", "q3", command=command) as job:
        bench.send("sensor1", sensor_lines(100))
        found = sorted(int(output.value.split(b";")[0]) for output in bench.outputs(20))
        assert found == list(range(0, 100, 5)), job.failure()
        job.stop()
        assert "exit code 0" in (job.failure() or "")
    committed = bench.transport.committed(bench.endpoints)
    assert committed == {("sensor1", 0): 50, ("sensor1", 1): 50}


@pytest.fixture
def schema(postgres: RunningService[PostgresEndpoint]) -> Iterator[PostgresEndpoint]:
    endpoint = replace(postgres.endpoint, schema=f"test_{uuid.uuid4().hex[:8]}")
    name = sql.Identifier(endpoint.schema)
    with psycopg.connect(**endpoint.connection(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        for table_name in ("workplace", "production_order_line"):
            connection.execute(ddl.create(endpoint.schema, TABLES[table_name]))
        yield endpoint
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(name))


def insert(endpoint: PostgresEndpoint, name: str, rows: Sequence[tuple[object, ...]]) -> None:
    statement = sql.SQL("INSERT INTO {} VALUES ({})").format(
        ddl.qualified(endpoint.schema, name), sql.SQL(", ").join([sql.Placeholder()] * len(rows[0]))
    )
    with psycopg.connect(**endpoint.connection()) as connection:
        connection.cursor().executemany(statement, rows)


def test_reference_sees_a_downtime_that_is_written_while_it_runs(
    transport: Topics, schema: PostgresEndpoint, tmp_path: Path
) -> None:
    insert(schema, "workplace", [(1, None, None)])
    endpoints = make_endpoints(transport.endpoint, "sensor1", "sensor2", postgres=schema)
    bench = Bench(transport, tmp_path, endpoints)
    with bench.start("reference", "q4") as job:
        bench.send("sensor1", sensor_lines(200))
        await_idle(job, {("sensor1", 0): 200, ("sensor2", 0): 0})
        assert len(bench.outputs(105)) == 105
        database.set_downtime(schema, 1, 0, 10)
        sent = outputs = 0
        while outputs == sent:  # until the table is read anew, each of them is answered
            bench.send("sensor2", sensor_lines(1))
            sent += 1
            await_idle(job, {("sensor1", 0): 200, ("sensor2", 0): sent})
            outputs = sum(transport.log_end(endpoints.output or "")) - 105
    assert sent < 100


LINES = [(1, 1, 1), (1, 2, 1), (2, 1, 1)]
EVENTS = [f"{o}\t{ol}\t{pol}\t{end}" for o, ol, pol in LINES for end in (0, 1)]


@pytest.mark.parametrize(
    ("fault", "unset", "early", "touched"),
    [
        (None, 0, 0, 0),
        ("unset:2", 1, 0, 0),
        ("early:2", 0, 1, 0),
        ("touch:2", 0, 0, 1),
    ],
)
def test_reference_writes_processing_times(
    transport: Topics,
    schema: PostgresEndpoint,
    tmp_path: Path,
    fault: str | None,
    unset: int,
    early: int,
    touched: int,
) -> None:
    width = len(TABLES["production_order_line"].columns)
    insert(
        schema,
        "production_order_line",
        [(*line, 7, 5, 1, None, None)[:width] for line in LINES],
    )
    endpoints = make_endpoints(transport.endpoint, "times", output=False, postgres=schema)
    bench = Bench(transport, tmp_path, endpoints)
    options = {"fault": fault} if fault else {}
    with bench.start("reference", "q5", **options) as job:
        began = time.time()
        bench.send("times", EVENTS)
        await_idle(job, {("times", 0): len(EVENTS)})
    rows = database.read(schema, "production_order_line").to_pylist()
    times = [row[name] for row in rows for name in ("pol_start_ts", "pol_end_ts")]
    assert times.count(None) == unset
    assert sum(t is not None and t.timestamp() < began for t in times) == early
    assert sum(row["pol_quantity"] != 5 for row in rows) == touched
