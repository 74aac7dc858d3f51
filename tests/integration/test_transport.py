"""The Kafka transport with a real broker."""

import time
from collections.abc import Iterable, Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streamgauge.errors import NotReady, TrialInvalid
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.endpoints import Endpoints
from streamgauge.transports.kafka import KafkaTransport
from tests.integration.topics import Topics, client_settings, make_endpoints

pytestmark = pytest.mark.integration


@pytest.fixture
def transport(kafka: RunningService[KafkaEndpoint]) -> Iterator[Topics]:
    with Topics(kafka.endpoint) as transport:
        yield transport


@pytest.fixture
def endpoints(transport: Topics) -> Iterator[Endpoints]:
    endpoints = make_endpoints(transport.endpoint, "sensor1", "sensor2", partitions=2)
    transport.create(endpoints)
    yield endpoints
    transport.delete(endpoints)


def send(endpoints: Endpoints, topic: str, values: Iterable[bytes]) -> None:
    producer = Producer(client_settings(endpoints))
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % endpoints.partitions, timestamp=1)
    assert producer.flush(10) == 0


def test_topics_carry_the_brokers_time_and_keep_their_records(
    transport: Topics, endpoints: Endpoints
) -> None:
    topic = endpoints.inputs["sensor1"]
    send(endpoints, topic, [b"a", b"b", b"c"])
    records = []
    with transport.tail(topic, [0, 0]) as tail:
        while len(records) < 3:
            records += tail.read()
    assert sorted((r.partition, r.offset, r.value) for r in records) == [
        (0, 0, b"a"),
        (0, 1, b"c"),
        (1, 0, b"b"),
    ]
    assert all(record.timestamp_ms > 1_700_000_000_000 for record in records)


def test_a_topic_is_never_used_twice(transport: Topics, endpoints: Endpoints) -> None:
    with pytest.raises(NotReady, match="already exists"):
        transport.create(endpoints)


def test_log_end_counts_each_partition(transport: Topics, endpoints: Endpoints) -> None:
    topic = endpoints.inputs["sensor2"]
    assert transport.log_end(topic) == [0, 0]
    send(endpoints, topic, [b"a", b"b", b"c"])
    assert transport.log_end(topic) == [2, 1]


def test_newest_is_the_last_record_again_and_again(transport: Topics, endpoints: Endpoints) -> None:
    assert endpoints.output is not None
    assert transport.newest(endpoints.output) is None
    for value in (b"first", b"second"):
        send(endpoints, endpoints.output, [value])
        newest = transport.newest(endpoints.output)
        assert newest is not None
        assert newest[1] == value


def test_a_tail_begins_where_it_is_told_and_goes_on(
    transport: Topics, endpoints: Endpoints
) -> None:
    assert endpoints.output is not None
    send(endpoints, endpoints.output, [b"old", b"old"])
    with transport.tail(endpoints.output, transport.log_end(endpoints.output)) as tail:
        assert tail.read() == []
        send(endpoints, endpoints.output, [b"new"])
        assert [record.value for record in tail.read(5)] == [b"new"]
        assert tail.read() == []


def test_committed_offsets_are_found(transport: Topics, endpoints: Endpoints) -> None:
    topics = list(endpoints.inputs.values())
    assert transport.committed(endpoints) == {}
    send(endpoints, topics[0], [b"a"] * 8)
    consumer = Consumer(client_settings(endpoints, group_id=endpoints.group))
    consumer.commit(offsets=[TopicPartition(topics[0], 1, 3)], asynchronous=False)
    consumer.close()
    assert transport.committed(endpoints) == {("sensor1", 1): 3}


def test_deleting_what_is_gone_is_no_error(
    transport: Topics,
) -> None:
    endpoints = make_endpoints(transport.endpoint)
    transport.create(endpoints)
    transport.delete(endpoints)
    transport.delete(endpoints)
    with pytest.raises(TrialInvalid, match="cannot ask for"):
        transport.log_end(endpoints.inputs["sensor1"])


def test_what_an_earlier_try_left_is_deleted_and_nothing_else(transport: Topics) -> None:
    left, other = make_endpoints(transport.endpoint), make_endpoints(transport.endpoint)
    transport.create(left)
    transport.create(other)
    KafkaTransport().clear({"kafka": transport.endpoint}, left.group)
    transport.log_end(other.inputs["sensor1"])
    deadline = time.monotonic() + 20
    with pytest.raises(TrialInvalid, match="cannot ask for"):
        while time.monotonic() < deadline:  # a broker hears of deletions a little later
            transport.log_end(left.inputs["sensor1"])
    transport.delete(other)


def test_a_broker_that_refuses_is_named_with_its_reason(
    transport: Topics,
) -> None:
    with pytest.raises(NotReady, match=r"cannot create topic .*: Number of partitions"):
        transport.create(make_endpoints(transport.endpoint, partitions=0))


def test_a_topic_with_the_senders_time_is_refused(
    transport: Topics,
) -> None:
    endpoints = make_endpoints(transport.endpoint)
    topic = endpoints.inputs["sensor1"]
    admin = AdminClient(transport.endpoint.client_settings())
    settings = {"message.timestamp.type": "CreateTime"}
    admin.create_topics([NewTopic(topic, 1, config=settings)])[topic].result()
    with pytest.raises(NotReady, match=r"message\.timestamp\.type=CreateTime"):
        transport.admin.verify(topic)
