"""The sender as a process, with a real broker."""

import itertools
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

from streamgauge.errors import TrialInvalid, UsageError
from streamgauge.load import arrivals
from streamgauge.load.senders import Senders, share_cpus
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.offering import Sending
from streamgauge.spec.records import Record
from streamgauge.spec.trial import LoadSpec, TrialSpec
from streamgauge.workloads.espbench import sensors
from tests.integration.topics import Topics, make_endpoints

pytestmark = pytest.mark.integration


@pytest.fixture
def transport(kafka: RunningService[KafkaEndpoint]) -> Iterator[Topics]:
    with Topics(kafka.endpoint) as transport:
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


def read_all(transport: Topics, topic: str) -> list[Record]:
    ends = transport.log_end(topic)
    records: list[Record] = []
    with transport.tail(topic, [0] * len(ends)) as tail:
        while len(records) < sum(ends):
            records += tail.read(5)
    return sorted(records, key=lambda record: (record.partition, record.offset))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def run_load(sender: Senders, start_ms: int) -> None:
    sender.begin(start_ms)
    while not sender.finished:
        assert sender.failure() is None
        time.sleep(0.05)


def test_every_record_is_sent_once_at_its_intended_time_to_its_partition(
    transport: Topics, tmp_path: Path
) -> None:
    spec = make_spec()
    endpoints = make_endpoints(transport.endpoint, "sensor1", "sensor2", partitions=2)
    transport.create(endpoints)
    with Senders.start(spec, endpoints, Sending(), tmp_path) as sender:
        sender.ready(60)
        first = sender.markers()
        start_ms = now_ms() + 200
        run_load(sender, start_ms)
        last = sender.markers()
        summary = sender.finish()
    assert summary.due == summary.sent == summary.acknowledged == 2 * arrivals.records(spec)
    assert summary.errors == 0
    assert sorted((m.stream, m.partition, m.offset, m.id) for m in first) == [
        ("sensor1", 0, 0, 0),
        ("sensor1", 1, 0, 2),
        ("sensor2", 0, 0, 1),
        ("sensor2", 1, 0, 3),
    ]
    assert {m.offset for m in last} == {arrivals.records(spec) // 2 + 1}
    for number, stream in enumerate(("sensor1", "sensor2")):
        check_stream(read_all(transport, endpoints.inputs[stream]), number, start_ms, spec)
    rows = pq.read_table(tmp_path / "sender.parquet")
    assert rows["sent"].to_pylist()[-1] == summary.sent
    assert rows["due"].to_pylist() == sorted(rows["due"].to_pylist())


def check_stream(records: list[Record], number: int, start_ms: int, spec: TrialSpec) -> None:
    parts = [(r.partition, *map(int, r.value.split(b";", 2)[:2])) for r in records]
    markers = spec.partitions
    count = arrivals.records(spec) + 2 * markers
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
    transport: Topics, tmp_path: Path
) -> None:
    spec = make_spec(workload="rovio", query="join", parameters={}, rate=500.0)
    endpoints = make_endpoints(transport.endpoint, "purchases", "ads", partitions=2)
    transport.create(endpoints)
    with Senders.start(spec, endpoints, Sending(), tmp_path) as sender:
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


def test_a_load_that_cannot_be_sent_ends_and_says_so(transport: Topics, tmp_path: Path) -> None:
    load = LoadSpec(buffer=4096, batch=1024, linger_s=0.5)
    spec = make_spec(query="q3", rate=200_000.0, partitions=1, warmup_s=0.0, load=load)
    endpoints = make_endpoints(transport.endpoint)
    transport.create(endpoints)
    with Senders.start(spec, endpoints, Sending(), tmp_path) as sender:
        sender.ready(60)
        run_load(sender, now_ms())
        summary = sender.finish()
    assert summary.due == arrivals.records(spec)
    assert summary.sent < summary.due
    assert summary.backpressure_s > 0
    assert summary.acknowledged == summary.sent
    assert transport.log_end(endpoints.inputs["sensor1"]) == [summary.sent]


def test_a_sender_that_dies_says_why(transport: Topics, tmp_path: Path) -> None:
    spec = make_spec(workload="nonesuch")
    with (
        Senders.start(spec, make_endpoints(transport.endpoint), Sending(), tmp_path) as sender,
        pytest.raises(TrialInvalid, match="unknown workload 'nonesuch'"),
    ):
        sender.ready(60)


def test_a_killed_sender_is_noticed(transport: Topics, tmp_path: Path) -> None:
    endpoints = make_endpoints(transport.endpoint, partitions=2)
    transport.create(endpoints)
    with Senders.start(make_spec(query="q3"), endpoints, Sending(), tmp_path) as sender:
        sender.ready(60)
        sender.stop()
        assert "SIGTERM" in (sender.failure() or "")
        with pytest.raises(TrialInvalid, match="the sender died"):
            sender.markers()


def test_senders_keep_to_the_cpus_that_they_are_given(transport: Topics, tmp_path: Path) -> None:
    endpoints = make_endpoints(transport.endpoint, partitions=2)
    transport.create(endpoints)
    spec = make_spec(query="q3", load=LoadSpec(senders=2))
    cpus = sorted(os.sched_getaffinity(0))
    with Senders.start(spec, endpoints, Sending(), tmp_path, affinity=cpus) as sender:
        sender.ready(60)
        found = [sorted(os.sched_getaffinity(pid)) for pid in sender.pids]
    assert found == [list(share) for share in share_cpus(cpus, 2)]


def test_settings_that_contradict_are_refused_before_anything_starts(
    kafka: RunningService[KafkaEndpoint], tmp_path: Path
) -> None:
    spec = make_spec(load=LoadSpec(spark="local[2]", source="stream"))
    with pytest.raises(UsageError, match="cannot stream payloads"):
        Senders.start(spec, make_endpoints(kafka.endpoint), Sending(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_endpoints_of_a_load_without_acknowledgement(transport: Topics, tmp_path: Path) -> None:
    load = LoadSpec(acks="0", idempotence=False)
    endpoints: Endpoints = make_endpoints(transport.endpoint)
    transport.create(endpoints)
    spec = make_spec(query="q3", partitions=1, load=load)
    with Senders.start(spec, endpoints, Sending(), tmp_path) as sender:
        sender.ready(60)
        assert [marker.offset for marker in sender.markers()] == [0]
        run_load(sender, now_ms())
        summary = sender.finish()
    assert summary.sent == summary.acknowledged == arrivals.records(spec)


@pytest.mark.parametrize(
    ("senders", "partitions", "source"), [(2, 1, "memory"), (3, 2, "stream"), (1, 2, "stream")]
)
def test_several_senders_send_what_one_would_have_sent(
    transport: Topics, tmp_path: Path, senders: int, partitions: int, source: str
) -> None:
    load = LoadSpec.model_validate({"senders": senders, "source": source})
    spec = make_spec(query="q3", rate=1999.0, partitions=partitions, load=load)
    endpoints = make_endpoints(transport.endpoint, partitions=partitions)
    transport.create(endpoints)
    with Senders.start(spec, endpoints, Sending(), tmp_path) as sender:
        sender.check = lambda: none_died(sender)
        sender.ready(60)
        sender.markers()
        start_ms = now_ms() + 500
        run_load(sender, start_ms)
        last = sender.markers()
        summary = sender.finish()
    count = arrivals.records(spec)
    assert summary.senders == senders
    assert summary.due == summary.sent == summary.acknowledged == count
    schedule, ring = arrivals.schedule(spec), sensors.lines(1000, 1, spec.seed)
    expected = {
        (j % partitions, b"%d;%d;%b" % (j, start_ms + at_ms, ring[j % 1000]))
        for j, at_ms in enumerate(schedule.intended_ms(np.arange(count)).tolist(), partitions)
    }
    records = read_all(transport, endpoints.inputs["sensor1"])
    load_ids = range(partitions, partitions + count)
    found = [(r.partition, r.value) for r in records if int(r.value.split(b";")[0]) in load_ids]
    assert len(found) == count
    assert set(found) == expected
    assert sorted(marker.id for marker in last) == [
        *range(count + partitions, count + 2 * partitions)
    ]
    assert not (tmp_path / "payloads").exists()


def none_died(sender: Senders) -> None:
    assert sender.failure() is None


def test_when_one_of_several_senders_is_killed_all_end(transport: Topics, tmp_path: Path) -> None:
    spec = make_spec(query="q3", duration_s=30.0, load=LoadSpec(senders=3))
    endpoints = make_endpoints(transport.endpoint, partitions=2)
    transport.create(endpoints)
    with Senders.start(spec, endpoints, Sending(), tmp_path) as sender:
        sender.ready(60)
        sender.begin(now_ms())
        pids = sender.pids
        os.kill(pids[1], signal.SIGKILL)
        while sender.failure() is None:
            time.sleep(0.01)
        assert "SIGKILL" in (sender.failure() or "")
        assert "sender-2.log" in (sender.failure() or "")
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_broker_that_pauses_longer_than_the_buffer_lasts_gets_everything_later(
    kafka: RunningService[KafkaEndpoint], transport: Topics, tmp_path: Path
) -> None:
    load = LoadSpec(buffer=1024 * 1024)
    rate = 4000
    spec = make_spec(query="q3", rate=float(rate), duration_s=8.0, partitions=1, load=load)
    endpoints = make_endpoints(transport.endpoint)
    transport.create(endpoints)
    with Senders.start(spec, endpoints, Sending(), tmp_path) as sender:
        sender.ready(60)
        start_ms = now_ms()
        sender.begin(start_ms)
        while (tick := sender.poll()) is None or tick.sent == 0:
            assert sender.failure() is None
        with paused(kafka.processes()):
            time.sleep(4)  # the buffer is full after less than two seconds
        run = sender.finish(60)
    assert run.due == run.sent == run.acknowledged == arrivals.records(spec)
    assert run.errors == 0
    assert run.backpressure_s > 1
    assert run.send_lateness["max"] > 1
    with Topics(kafka.endpoint) as fresh:  # the other one knows the broker of before
        records = read_all(fresh, endpoints.inputs["sensor1"])
    intended = [int(record.value.split(b";")[1]) - start_ms for record in records]
    assert intended == [j * 1000 // rate for j in range(arrivals.records(spec))]


@contextmanager
def paused(pids: Sequence[int]) -> Iterator[None]:
    """Let processes stand still."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
