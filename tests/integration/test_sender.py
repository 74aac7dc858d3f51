"""The sender as a process, with a real broker."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamgauge.errors import TrialInvalid, UsageError
from streamgauge.load.process import Sender
from streamgauge.services.service import RunningService
from streamgauge.spec.contracts import Endpoints
from streamgauge.spec.endpoints import KafkaEndpoint
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.transports.kafka import KafkaTransport, Record
from tests.integration.topics import make_endpoints

pytestmark = pytest.mark.integration


@pytest.fixture
def transport(kafka: RunningService[KafkaEndpoint]) -> Iterator[KafkaTransport]:
    with KafkaTransport(kafka.endpoint) as transport:
        yield transport


def make_spec(**changes: object) -> TrialSpec:
    fields: dict[str, object] = {
        "number": 1,
        "workload": "espbench",
        "query": "q4",
        "parameters": {"sensors": None, "warehouses": 1, "workplaces": [1, 3], "ring": 1000},
        "engine": "noop",
        "rate": 2000.0,
        "duration_s": 1.0,
        "warmup_s": 0.5,
        "tail_s": 0.0,
        "partitions": 2,
    }
    return TrialSpec.model_validate(fields | changes)


def read_all(transport: KafkaTransport, topic: str) -> list[Record]:
    ends = transport.log_end(topic)
    records: list[Record] = []
    with transport.tail(topic, [0] * len(ends)) as tail:
        while len(records) < sum(ends):
            records += tail.read(5)
    return sorted(records, key=lambda record: (record.partition, record.offset))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def run_load(sender: Sender, start_ms: int) -> None:
    sender.begin(start_ms)
    while not sender.finished:
        assert sender.failure() is None
        time.sleep(0.05)


def test_every_record_is_sent_once_at_its_intended_time_to_its_partition(
    transport: KafkaTransport, tmp_path: Path
) -> None:
    spec = make_spec()
    endpoints = make_endpoints(transport.endpoint, "sensor1", "sensor2", partitions=2)
    transport.create(endpoints)
    with Sender.start(spec, endpoints, tmp_path) as sender:
        sender.ready(60)
        first = sender.markers()
        start_ms = now_ms() + 200
        run_load(sender, start_ms)
        last = sender.markers()
        summary = sender.finish()
    assert summary.due == summary.sent == summary.acknowledged == 2 * spec.records
    assert summary.errors == 0
    assert sorted((m.stream, m.partition, m.offset, m.id) for m in first) == [
        ("sensor1", 0, 0, 0),
        ("sensor1", 1, 0, 2),
        ("sensor2", 0, 0, 1),
        ("sensor2", 1, 0, 3),
    ]
    assert {m.offset for m in last} == {spec.records // 2 + 1}
    for number, stream in enumerate(("sensor1", "sensor2")):
        check_stream(read_all(transport, endpoints.inputs[stream]), number, start_ms, spec)
    rows = pq.read_table(tmp_path / "sender.parquet")
    assert rows["sent"].to_pylist()[-1] == summary.sent
    assert rows["due"].to_pylist() == sorted(rows["due"].to_pylist())


def check_stream(records: list[Record], number: int, start_ms: int, spec: TrialSpec) -> None:
    parts = [(r.partition, *map(int, r.value.split(b";", 2)[:2])) for r in records]
    markers = spec.partitions
    count = spec.records + 2 * markers
    by_id = {id_: (partition, intended) for partition, id_, intended in parts}
    assert sorted(by_id) == [number + 2 * j for j in range(count)]
    assert len(records) == count
    for j in range(markers, count - markers):
        partition, intended = by_id[number + 2 * j]
        assert partition == j % spec.partitions
        assert intended == start_ms + (j - markers) // 2
    for partition in range(spec.partitions):
        ids = [id_ for p, id_, _ in parts if p == partition]
        assert all(a < b for a, b in itertools.pairwise(ids)), "the log keeps the order of sending"


def test_sentinels_follow_the_last_markers_in_every_partition(
    transport: KafkaTransport, tmp_path: Path
) -> None:
    spec = make_spec(workload="rovio", query="join", parameters={}, rate=500.0)
    endpoints = make_endpoints(transport.endpoint, "purchases", "ads", partitions=2)
    transport.create(endpoints)
    with Sender.start(spec, endpoints, tmp_path) as sender:
        sender.ready(60)
        run_load(sender, now_ms())
        markers, sentinels = sender.markers(), sender.sentinels()
        sender.finish()
    after = {(m.stream, m.partition): m.offset + 1 for m in markers}
    assert {(s.stream, s.partition): s.offset for s in sentinels} == after
    ids = [marker.id for marker in (*markers, *sentinels)]
    assert len(set(ids)) == len(ids)
    for sent in sentinels:
        assert int(sent.value.split(b";")[2]) < 0


def test_a_load_that_cannot_be_sent_ends_and_says_so(
    transport: KafkaTransport, tmp_path: Path
) -> None:
    load = LoadSpec(buffer=4096, batch=1024, linger_s=0.5)
    spec = make_spec(query="q3", rate=200_000.0, partitions=1, warmup_s=0.0, load=load)
    endpoints = make_endpoints(transport.endpoint)
    transport.create(endpoints)
    with Sender.start(spec, endpoints, tmp_path) as sender:
        sender.ready(60)
        run_load(sender, now_ms())
        summary = sender.finish()
    assert summary.due == spec.records
    assert summary.sent < summary.due
    assert summary.backpressure_s > 0
    assert summary.acknowledged == summary.sent
    assert transport.log_end(endpoints.inputs["sensor1"]) == [summary.sent]


def test_a_sender_that_dies_says_why(transport: KafkaTransport, tmp_path: Path) -> None:
    spec = make_spec(workload="nonesuch")
    with (
        Sender.start(spec, make_endpoints(transport.endpoint), tmp_path) as sender,
        pytest.raises(TrialInvalid, match="unknown workload 'nonesuch'"),
    ):
        sender.ready(60)


def test_a_killed_sender_is_noticed(transport: KafkaTransport, tmp_path: Path) -> None:
    endpoints = make_endpoints(transport.endpoint, partitions=2)
    transport.create(endpoints)
    with Sender.start(make_spec(query="q3"), endpoints, tmp_path) as sender:
        sender.ready(60)
        sender.stop()
        assert "SIGTERM" in (sender.failure() or "")
        with pytest.raises(TrialInvalid, match="the sender died"):
            sender.markers()


def test_settings_that_contradict_are_refused_before_anything_starts(
    kafka: RunningService[KafkaEndpoint], tmp_path: Path
) -> None:
    spec = make_spec(load=LoadSpec(acks="1"))
    with pytest.raises(UsageError, match="acks=all"):
        Sender.start(spec, make_endpoints(kafka.endpoint), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_endpoints_of_a_load_without_acknowledgement(
    transport: KafkaTransport, tmp_path: Path
) -> None:
    load = LoadSpec(acks="0", idempotence=False)
    endpoints: Endpoints = make_endpoints(transport.endpoint)
    transport.create(endpoints)
    spec = make_spec(query="q3", partitions=1, load=load)
    with Sender.start(spec, endpoints, tmp_path) as sender:
        sender.ready(60)
        assert [marker.offset for marker in sender.markers()] == [0]
        run_load(sender, now_ms())
        summary = sender.finish()
    assert summary.sent == summary.acknowledged == spec.records
