"""A workload that comes with a package of its own: keyed JSON records, a configuration, Redis."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from streamgauge import registry
from streamgauge.load.senders import Senders
from streamgauge.services.kafka.admin import KafkaAdmin
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.offering import Sending
from streamgauge.spec.trial import Counts, TrialResult, TrialSpec
from streamgauge.trial.bench import Bench, Event
from streamgauge.trial.run import run_trial
from streamgauge.validation.session import Session
from tests.integration.test_sender import now_ms, run_load
from tests.integration.topics import Topics, make_endpoints
from tests.integration.trials import PATIENT, make_spec

pytestmark = [pytest.mark.integration]

PARTITIONS = 4
SENSORS = 40
"""Names that the toy sends before the load."""
RECORDS = 12_000 + 2 * PARTITIONS
"""Of a load of four seconds, with the markers."""
ENTRY_POINTS = "[streamgauge.workloads]\ntoy = streamgauge_toy:Toy\n"
METADATA = "Metadata-Version: 2.1\nName: streamgauge-toy\nVersion: 1\n"


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the toy: here, and where child processes look."""
    info = tmp_path_factory.mktemp("installed") / "streamgauge_toy-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (info / "METADATA").write_text(METADATA)
    places = [info.parent, Path(__file__).parents[1] / "toy"]
    with pytest.MonkeyPatch.context() as patch:
        for place in places:
            patch.syspath_prepend(place)
        patch.setenv("PYTHONPATH", ":".join(map(str, places)))
        registry._entries.cache_clear()
        yield
    registry._entries.cache_clear()


@pytest.fixture(scope="module")
def fresh(bench: Bench, validator: Session, package: None) -> Iterator[Bench]:
    """A validator whose workers are started when the toy can be found."""
    validator.stop()
    yield bench
    validator.stop()


def toy_spec(**changes: Any) -> TrialSpec:
    load = PATIENT.model_copy(update=changes.pop("load", {}))
    fields = {"partitions": PARTITIONS, "rate": 3000.0, "load": load, "keep": True}
    query = changes.pop("query", "same")
    return make_spec(query, workload_name="toy", **{**fields, **changes})


def run(bench: Bench, folder: Path, **changes: Any) -> TrialResult:
    result = run_trial(toy_spec(**changes), bench, folder / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.valid.holds is True, result.valid.reason
    return result


@pytest.mark.spark
def test_keyed_json_is_sent_answered_and_checked(fresh: Bench, tmp_path: Path) -> None:
    result = run(fresh, tmp_path)
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.expected == result.counts.correct == RECORDS
    check_places(tmp_path)


@pytest.mark.spark
def test_a_wrong_answer_in_json_is_found_among_what_two_senders_drew_as_they_sent(
    fresh: Bench, tmp_path: Path
) -> None:
    load = {"source": "stream", "senders": 2}
    result = run(fresh, tmp_path, load=load, engine_options={"fault": "alter-id"})
    assert result.correct.holds is False
    assert result.counts == Counts(expected=RECORDS, correct=RECORDS - 1, missing=1, unexpected=1)
    check_places(tmp_path)


def check_places(folder: Path) -> None:
    """Markers must be in every partition, and all records of a sensor in one."""
    records = pq.read_table(folder / "001" / "records" / "readings.parquet")
    partitions = defaultdict(set)
    for partition, value in zip(
        records["partition"].to_pylist(), records["value"].to_pylist(), strict=True
    ):
        partitions[json.loads(value)["sensor"]].add(partition)
    assert partitions.pop(None) == set(range(PARTITIONS))
    assert len(partitions) == 40
    assert all(len(places) == 1 for places in partitions.values())
    assert set(chain.from_iterable(partitions.values())) == set(range(PARTITIONS))


def test_what_was_sent_before_the_load_is_answered_as_well(fresh: Bench, tmp_path: Path) -> None:
    kafka = KafkaEndpoint.of(fresh.services["kafka"].endpoint)
    there: set[str] = set()

    def look(event: Event) -> None:
        if event.get("phase") == "measure":
            there.update(KafkaAdmin(kafka).topics("test-"))

    spec = toy_spec(query="all", duration_s=1.0)
    result = run_trial(spec, fresh, tmp_path / "001", look)
    assert result.status == "done", result.cause
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.correct == 4_000 * 3 // 2 + 2 * PARTITIONS + SENSORS
    names = pq.read_table(tmp_path / "001" / "records" / "names.parquet")
    assert len(names) == SENSORS
    readings = pq.read_table(tmp_path / "001" / "records" / "readings.parquet")
    assert max(names["timestamp"].to_pylist()) <= min(readings["timestamp"].to_pylist())
    values = names["value"].to_pylist() + readings["value"].to_pylist()
    ids = [json.loads(value)["id"] for value in values]
    assert len(set(ids)) == len(ids)
    assert {topic.rpartition("-")[2] for topic in there} == {"readings", "names", "again", "out"}
    assert KafkaAdmin(kafka).topics("test-") == []


def test_business_data_may_live_in_redis(fresh: Bench, tmp_path: Path) -> None:
    spec = toy_spec(query="kept", duration_s=1.0, engine_options={"fault": "unset:9"})
    result = run_trial(spec, fresh, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    counts = result.counts
    assert counts.expected == counts.correct + 1 > 1000
    assert (counts.missing, result.correct.holds) == (1, False), result.correct.reason
    assert result.metrics["cpu.redis"] >= 0


@pytest.fixture
def transport(kafka: RunningService[KafkaEndpoint]) -> Iterator[Topics]:
    with Topics(kafka.endpoint) as transport:
        yield transport


def test_records_carry_their_key_and_lie_where_kafka_would_put_them(
    transport: Topics, tmp_path: Path
) -> None:
    spec = toy_spec(duration_s=0.5)
    endpoints = make_endpoints(transport.endpoint, "readings", partitions=PARTITIONS)
    transport.create(endpoints)
    with Senders.start(spec, endpoints, Sending(), tmp_path) as sender:
        sender.ready(60)
        marker_keys = {marker.partition for marker in sender.markers()}
        run_load(sender, now_ms())
        sender.finish()
    assert marker_keys == set(range(PARTITIONS))
    places = defaultdict(set)
    for key, partition, value in read_keyed(transport, endpoints.inputs["readings"]):
        places[key].add(partition)
        assert (json.loads(value)["sensor"] or "marker") == key.decode()
    assert places.pop(b"marker") == set(range(PARTITIONS))
    assert len(places) == 40
    assert places == chosen_by_kafka(transport.endpoint, str(endpoints.output), list(places))


def read_keyed(transport: Topics, topic: str) -> Iterator[tuple[bytes, int, bytes]]:
    settings = {"group.id": "keys", "enable.auto.commit": False}
    consumer = Consumer({**transport.endpoint.client_settings(), **settings})
    ends = transport.log_end(topic)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(len(ends))])
    for _ in range(sum(ends)):
        message: Any = consumer.poll(10)
        assert message.error() is None
        yield message.key(), message.partition(), message.value()
    consumer.close()


def chosen_by_kafka(
    endpoint: KafkaEndpoint, topic: str, keys: list[bytes]
) -> dict[bytes, set[int]]:
    """Let a producer choose the partitions as Kafka's Java client does by default."""
    producer = Producer({**endpoint.client_settings(), "partitioner": "murmur2"})
    found = defaultdict(set)

    def keep(key: bytes) -> Callable[[Any, Any], None]:
        return lambda _, message: found[key].add(message.partition())

    for key in keys:
        producer.produce(topic, b"", key, on_delivery=keep(key))
    assert producer.flush(20) == 0
    return found


def test_append_times_are_read_back_where_partitions_follow_keys(
    bench: Bench, tmp_path: Path
) -> None:
    spec = toy_spec(engine=None)
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    times = pq.read_table(tmp_path / "001" / "append_times.parquet")
    assert len(times) > 3000 * 3 / PARTITIONS * 0.9
    assert "lateness.p50" in result.metrics
