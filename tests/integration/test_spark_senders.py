"""Senders as tasks of a Spark cluster with two workers."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

from streamgauge import process
from streamgauge.errors import TrialInvalid
from streamgauge.load import arrivals
from streamgauge.load.senders import Senders
from streamgauge.services import runtime
from streamgauge.services.java import ENVIRONMENT, find_java, spark_java_home
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.offering import Sending
from streamgauge.spec.trial import LoadSpec, TrialSpec
from tests.integration.topics import Topics, make_endpoints

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a standalone cluster: a master and two workers with a core each."""
    folder = tmp_path_factory.mktemp("cluster")
    port = runtime.free_port()
    url = f"spark://127.0.0.1:{port}"
    env = {
        **ENVIRONMENT,
        "JAVA_HOME": str(spark_java_home(find_java())),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_WORKER_DIR": str(folder / "work"),
    }
    deploy = "org.apache.spark.deploy"
    place = ["--host", "127.0.0.1", "--webui-port", "0"]
    size = ["--cores", "1", "--memory", "1g"]
    with ExitStack() as stack:
        boss = stack.enter_context(
            process.start(
                [SPARK_CLASS, f"{deploy}.master.Master", *place, "--port", str(port)],
                log=folder / "master.log",
                env=env,
            )
        )
        process.wait_until(lambda: listens(port), boss, 60, "Spark's master")
        for number in (1, 2):
            log = folder / f"worker-{number}.log"
            worker = stack.enter_context(
                process.start(
                    [SPARK_CLASS, f"{deploy}.worker.Worker", *place, *size, url],
                    log=log,
                    env=env,
                )
            )
            process.wait_until(
                lambda log=log: b"Successfully registered" in log.read_bytes(),
                worker,
                60,
                "Spark's worker",
            )
        yield url


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


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
