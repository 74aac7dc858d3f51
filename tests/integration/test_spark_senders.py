"""Senders as tasks of a Spark cluster with two workers."""

import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamgauge.errors import TrialInvalid
from streamgauge.load import arrivals
from streamgauge.load.senders import Senders
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.running import Options, RunningService
from streamgauge.services.spark.embedded import EmbeddedSpark, Size
from streamgauge.spec.offering import Sending
from streamgauge.spec.trial import LoadSpec, TrialSpec
from tests.integration.topics import Topics, make_endpoints

pytestmark = [pytest.mark.integration, pytest.mark.spark]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a cluster with two workers that each have room for one task."""
    options = Options(log_dir=tmp_path_factory.mktemp("cluster"))
    with (
        EmbeddedSpark(options, size=Size(2, 1, 1 << 30), slots=1).up() as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("STREAMGAUGE_SPARK_PASSWORD", running.endpoint.password)
        yield running.endpoint.master


def make_spec(master: str, senders: int | None) -> TrialSpec:
    return TrialSpec(
        number=1,
        workload="espbench",
        query="q3",
        parameters={"sensors": None, "warehouses": 1, "workplaces": [1, 3], "ring": 1000},
        engine="noop",
        rate=1001.0,
        duration_s=3.0,
        warmup_s=0.0,
        tail_s=0.0,
        partitions=2,
        load=LoadSpec(spark=master, senders=senders),
    )


def test_two_workers_send_what_one_sender_would_have_sent(
    kafka: RunningService[KafkaEndpoint], master: str, tmp_path: Path
) -> None:
    spec = make_spec(master, senders=None)
    endpoints = make_endpoints(kafka.endpoint, partitions=2)
    with Topics(kafka.endpoint) as transport:
        transport.create(endpoints)
        with Senders.start(spec, endpoints, Sending(), tmp_path) as sender:
            sender.ready(60)
            sender.markers()
            start_ms = time.time_ns() // 1_000_000 + 500
            sender.begin(start_ms)
            while not sender.finished:
                assert sender.failure() is None
                time.sleep(0.05)
            sender.markers()
            summary = sender.finish()
        count = arrivals.records(spec)
        assert summary.senders == 2
        assert summary.due == summary.sent == summary.acknowledged == count
        topic = endpoints.inputs["sensor1"]
        ends = transport.log_end(topic)
        records = []
        with transport.tail(topic, [0, 0]) as tail:
            while len(records) < sum(ends):
                records += tail.read(5)
    schedule = arrivals.schedule(spec)
    found = {int(r.value.split(b";")[0]): int(r.value.split(b";")[1]) for r in records}
    assert sorted(found) == list(range(count + 4))
    assert len(records) == count + 4
    for record in range(count):
        assert found[record + 2] == start_ms + schedule.intended_ms(record)
    ticks = [pq.read_table(tmp_path / f"sender-{number}.parquet") for number in (1, 2)]
    assert sum(table["sent"].to_pylist()[-1] for table in ticks) == count


def test_more_senders_than_the_cluster_has_cores_are_refused(
    kafka: RunningService[KafkaEndpoint], master: str, tmp_path: Path
) -> None:
    endpoints = make_endpoints(kafka.endpoint, partitions=2)
    with pytest.raises(TrialInvalid, match="slots"):
        Senders.start(make_spec(master, senders=3), endpoints, Sending(), tmp_path)
