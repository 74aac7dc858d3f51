"""A job on a cluster: slots, settings, what is seen of its executors."""

import sys
from pathlib import Path
from typing import Any

import pytest

from streamgauge.engines.spark import SparkEngine, engine
from streamgauge.engines.spark.executors import ClusterJob, Told
from streamgauge.engines.spark.reported import ReportedCpu
from streamgauge.errors import UsageError
from streamgauge.jobfile import JobSpec
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.redis import RedisEndpoint
from streamgauge.services.spark import packages
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.services.spark.executors import SLOTS
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.jobs import Resources
from streamgauge.spec.trial import InstanceSeen


def job(query: str = "q3", options: dict[str, str] | None = None, **changes: Any) -> JobSpec:
    fields: dict[str, Any] = {
        "workload": "espbench",
        "query": query,
        "parameters": {},
        "partitions": 1,
        "seed": 1,
        "options": options or {},
        "least_rate": 1000.0,
        "instances": 2,
    }
    return SparkEngine().resolve(JobSpec(**{**fields, **changes}))


@pytest.mark.parametrize(
    ("query", "changes", "slots"),
    [
        ("q3", {}, 1),  # one input partition in two executors
        ("q3", {"partitions": 5}, 3),
        ("q3", {"instance_cores": 4}, 4),
        ("q4", {"partitions": 3}, 3),  # two inputs
        ("q1", {"partitions": 2}, 2),  # two input and two shuffle partitions
        ("q2", {"partitions": 8}, 1),  # micro-batches take turns
    ],
)
def test_slots_are_the_larger_of_cores_and_what_the_mode_needs(
    query: str, changes: dict[str, Any], slots: int
) -> None:
    resolved = job(query, **changes)
    assert resolved.instance_slots == slots
    assert resolved.settings["spark.executor.cores"] == str(slots)
    assert resolved.settings["spark.cores.max"] == str(2 * slots)
    assert "spark.master" not in resolved.settings


def test_settings_that_nobody_tuned_fit_into_a_cluster_of_our_own() -> None:
    """Spark's own 200 shuffle partitions all hold a slot in real-time mode."""
    untuned = job("q1", {"mode": "realtime", "profile": "defaults"})
    assert 100 < (untuned.instance_slots or 0) <= SLOTS


def test_work_is_cut_for_the_cores_of_all_instances() -> None:
    shuffle = job("q1", instances=3, instance_cores=2).settings["spark.sql.shuffle.partitions"]
    assert shuffle == "6"


def test_state_is_spread_over_instances_whoever_reads() -> None:
    key = "spark.shuffle.reduceLocality.enabled"
    assert job("q2").settings[key] == "false"
    assert key not in job("q2", {"profile": "defaults"}).settings
    assert key not in job("q2", instances=None).settings


def test_in_one_process_nothing_is_asked_of_a_cluster() -> None:
    resolved = job(instances=None)
    assert resolved.instance_slots is None
    assert resolved.settings["spark.master"].startswith("local[")
    assert not [key for key in resolved.settings if key.startswith("spark.executor.")]


@pytest.mark.parametrize(
    ("options", "changes", "part"),
    [
        ({"checkpoint": "file:/shared"}, {"instances": None}, "share no disk"),
        ({"checkpoint": "/shared"}, {}, "is not a URI"),
        ({"checkpoint": "s3a://b/c", "mode": "continuous"}, {"query": "identity"}, "continuous"),
    ],
)
def test_places_for_checkpoints_that_cannot_work_are_refused(
    options: dict[str, str], changes: dict[str, Any], part: str
) -> None:
    with pytest.raises(UsageError, match=part):
        job(options=options, **changes)


def test_a_checkpoint_elsewhere_is_not_written_by_renaming_files() -> None:
    manager = "spark.sql.streaming.checkpointFileManagerClass"
    assert manager in job(options={"checkpoint": "file:/shared"}).settings
    there = job(options={"checkpoint": "s3a://bucket/place"})
    assert manager not in there.settings
    assert there.checkpoint == "s3a://bucket/place"


class Driver:
    """A driver that only has a place to write to."""

    def processes(self) -> list[int]:
        return [1]

    def clean(self) -> None:
        pass


def executor(host: str) -> InstanceSeen:
    return InstanceSeen(name="0", host=host, slots=1, added_ms=1)


def cluster_job(folder: Path, **told: Any) -> ClusterJob:
    if told:
        text = Told(application="app-1", **told).model_dump_json()
        (folder / "executors.json").write_text(text)
    return ClusterJob(Driver(), folder, folder / "conf")  # type: ignore[arg-type]


def test_nothing_is_told_before_the_driver_tells(tmp_path: Path) -> None:
    silent = cluster_job(tmp_path)
    assert (silent.instances(), silent.instance_processes()) == ((), [])
    assert silent.reported_cpu_s() is None


def test_executors_on_other_hosts_are_not_counted_as_seen(tmp_path: Path) -> None:
    far = cluster_job(tmp_path, executors=(executor("192.0.2.1"),), cpu_s={"0": 1.5, "1": 2.0})
    assert far.instance_processes() == []
    assert far.reported_cpu_s() == 3.5


def test_executors_on_this_machine_are_found_by_their_application(tmp_path: Path) -> None:
    from streamgauge import process

    word = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
    near = cluster_job(tmp_path, executors=(executor("127.0.0.1"),))
    wait = [sys.executable, "-c", "import sys; sys.stdin.read()", word, "--app-id"]
    with (
        process.start([*wait, "app-1"], log=tmp_path / "a", pipe_stdin=True) as ours,
        process.start([*wait, "app-2"], log=tmp_path / "b", pipe_stdin=True) as other,
    ):
        # One that is just becoming the program has no command line for a moment.
        process.wait_until(lambda: bool(near.instance_processes()), ours, 10, "the executor")
        assert near.instance_processes() == [ours.pid]
        assert other.pid not in near.instance_processes()
    assert near.instance_processes() == []


def test_cpu_time_is_read_from_what_executors_send() -> None:
    with ReportedCpu("127.0.0.1") as reported:
        reported.hear("app-1.0.JVMCPU.jvmCpuTime 1500000000 1795060970")
        reported.hear("app-1.1.JVMCPU.jvmCpuTime 500000000 1795060970")
        reported.hear("app-1.0.JVMCPU.jvmCpuTime 2500000000 1795060971")
        for nonsense in ("", "jvmCpuTime 1", "app.1.JVMCPU.jvmCpuTime x 1", "a.b.c 1 1"):
            reported.hear(nonsense)
        assert reported.seconds() == {"0": 2.5, "1": 0.5}
        port = reported.settings()["spark.metrics.conf.executor.sink.graphite.port"]
        assert int(port) > 0


@pytest.mark.parametrize("master", ["spark://m:7077", "k8s://https://api:6443", "yarn"])
def test_a_job_is_given_what_its_cluster_needs(
    master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of clusters that cannot be tried here, the settings that they lead to are looked at."""
    monkeypatch.setenv("STREAMGAUGE_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(engine.jars, "ensure", lambda name: [Path(f"/jars/{name}.jar")])
    seen: dict[str, Any] = {}

    def start_job(*argv: Any, env: dict[str, str]) -> Driver:
        seen.update(job=argv[1], env=env)
        return Driver()

    monkeypatch.setattr(engine, "start_job", start_job)
    archives = {"spark.archives": "/packages.tgz#packages"}
    monkeypatch.setattr(packages, "settings", lambda: archives)
    cluster = SparkEndpoint(
        master,
        "10.0.0.9",
        python="python3.11",
        sends_packages=True,
        defaults={"spark.kubernetes.container.image": "registry/image"},
        password="hidden",
    )
    redis = RedisEndpoint("10.0.0.3", 6379, password="of-redis")
    ways = Endpoints("kafka", KafkaEndpoint("k:1"), {}, None, 1, "g", services={"redis": redis})
    started = SparkEngine().start(job(), ways, Resources((0,), cluster), tmp_path)
    told = seen["job"].settings
    expected = {
        "spark.master": master,
        "spark.driver.host": "10.0.0.9",
        "spark.executor.instances": "2",
        "spark.executor.cores": "1",
        "spark.executor.memory": "2048m",
        "spark.jars": "/jars/spark-kafka.jar",
        **archives,
    }
    assert expected.items() <= told.items()
    assert seen["env"]["PYSPARK_PYTHON"] == "python3.11"
    assert not any("hidden" in text or "of-redis" in text for text in told.values())
    conf = Path(seen["env"]["SPARK_CONF_DIR"])
    assert (conf / "spark-defaults.conf").read_text().splitlines() == [
        "spark.kubernetes.container.image=registry/image",
        "spark.authenticate=true",
        "spark.authenticate.secret=hidden",
        "spark.executorEnv.STREAMGAUGE_REDIS_PASSWORD=of-redis",
    ]
    started.clean()
    assert not conf.exists()
