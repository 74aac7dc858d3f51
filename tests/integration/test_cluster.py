"""Spark on an embedded cluster of two executors: engine and validator, and what can go wrong."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from streamgauge.errors import NotReady
from streamgauge.runner.placement import cluster_place
from streamgauge.services.running import Options, RunningService
from streamgauge.services.spark.embedded import EmbeddedSpark, Size
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.spec.trial import LEAST_MEMORY, ResourceSpec, TrialResult
from streamgauge.trial.bench import Bench, Event
from streamgauge.trial.run import run_trial
from streamgauge.validation import hosts
from streamgauge.validation.session import Place, Session
from tests.integration.trials import make_spec

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TWO = ResourceSpec(instances=2, instance_memory=LEAST_MEMORY)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService[SparkEndpoint]]:
    options = Options(log_dir=tmp_path_factory.mktemp("cluster"))
    with EmbeddedSpark(options, size=Size(2, 1, LEAST_MEMORY)).up() as running:
        yield running


@pytest.fixture
def cluster_bench(
    bench: Bench, cluster: RunningService[SparkEndpoint], validator: Session
) -> Iterator[Bench]:
    """What trials on the cluster need; the validator goes there, and comes back afterwards."""
    services = {**bench.services, "spark": cluster}
    yield replace(bench, services=services, spark=validator.get, release=validator.release)
    validator.move(None)


def run(bench: Bench, validator: Session, folder: Path, query: str, **how: Any) -> TrialResult:
    listen = how.pop("listen", lambda _: None)
    spec = make_spec(query, engine="spark", resources=TWO, rate=1000.0, **how)
    validator.move(cluster_place(spec, bench.services))
    return run_trial(spec, bench, folder / "001", listen)


def readable_by_others(secret: str, folder: Path) -> list[str]:
    """Name arguments of processes and files of a folder that hold a secret."""
    found = []
    for process in psutil.process_iter():
        try:
            found += [word for word in process.cmdline() if secret in word]
        except psutil.Error:
            continue
    files = (file for file in folder.rglob("*") if file.is_file())
    return [*found, *(str(file) for file in files if secret.encode() in file.read_bytes())]


class Spy:
    """Looks for a secret whenever a trial tells something."""

    def __init__(self, secret: str, *folders: Path) -> None:
        self.secret, self.folders = secret, folders
        self.looks = 0
        self.found: list[str] = []

    def __call__(self, _: Event) -> None:
        self.looks += 1
        for folder in self.folders:
            self.found += readable_by_others(self.secret, folder)


def test_real_time_mode_on_two_executors(
    cluster_bench: Bench,
    cluster: RunningService[SparkEndpoint],
    validator: Session,
    tmp_path: Path,
) -> None:
    logs = cluster.members[0].log.parent
    spy = Spy(cluster.endpoint.password, tmp_path, logs)
    result = run(cluster_bench, validator, tmp_path, "q3", listen=spy)
    assert (result.status, result.valid.holds, result.correct.holds) == ("done", True, True)
    assert spy.looks > 5
    assert spy.found == []
    assert [each.host for each in result.instances] == ["127.0.0.1"] * 2
    assert all(each.lost_ms is None for each in result.instances)
    used = result.metrics
    assert used["cpu.engine"] >= used["cpu.engine.driver"] > 0
    assert used["memory.engine"] > used["memory.engine.driver"]
    assert "memory.cluster" in used
    assert len(list((tmp_path / "001" / "logs").glob("executor-*.log"))) >= 2


def test_a_query_in_python_survives_the_loss_of_an_executor(
    cluster_bench: Bench,
    cluster: RunningService[SparkEndpoint],
    validator: Session,
    tmp_path: Path,
) -> None:
    """In micro-batches Spark gives its tasks to others; the trial says that it happened."""
    worker = psutil.Process(cluster.members[1].pid)
    killed: list[int] = []

    def kill(event: Mapping[str, Any]) -> None:
        if event.get("phase") == "measure" and not killed:
            # That of an application before may still be ending.
            executor = max(worker.children(), key=psutil.Process.create_time)
            killed.append(executor.pid)
            os.kill(executor.pid, signal.SIGKILL)

    result = run(cluster_bench, validator, tmp_path, "q2", partitions=2, listen=kill)
    assert killed
    assert (result.status, result.spec.mode) == ("done", "microbatch"), result.cause
    assert [each.lost_ms is None for each in result.instances].count(False) == 1
    (warning,) = [text for text in result.warnings if "was lost" in text]
    assert "127.0.0.1" in warning
    # A task that is done again may write twice, since Spark writes to Kafka at least once.
    assert (result.counts.wrong, result.counts.missing) == (0, 0)
    assert result.counts.correct == result.counts.expected > 0


def test_continuous_mode_on_two_executors(
    cluster_bench: Bench, validator: Session, tmp_path: Path
) -> None:
    options = {"mode": "continuous"}
    result = run(cluster_bench, validator, tmp_path, "identity", engine_options=options)
    assert (result.status, result.correct.holds) == ("done", True), result.cause


def test_what_a_trial_needs_is_looked_at_from_inside(
    cluster: RunningService[SparkEndpoint], validator: Session, tmp_path: Path
) -> None:
    validator.move(Place(cluster.endpoint, 2, 1))
    try:
        spark = validator.get()
        found = hosts.look(spark, (), "127.0.0.1", clock=lambda: time.time() + 2)
        assert all(abs(each + 2) < 0.5 for each in hosts.offsets(found).values())
        with pytest.raises(NotReady, match=r"executors cannot reach what they need: .* kafka at"):
            hosts.look(spark, [("kafka", "127.0.0.1", 1)], "127.0.0.1")
        hosts.try_checkpoint(spark, tmp_path.as_uri())
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(NotReady, match="file:/proc/nowhere cannot be used"):
            hosts.try_checkpoint(spark, "file:/proc/nowhere")
    finally:
        validator.move(None)


def test_a_cluster_that_is_too_small_says_what_it_has(
    cluster: RunningService[SparkEndpoint], validator: Session
) -> None:
    validator.move(Place(cluster.endpoint, 3, 1))
    has = r"there is room for 2 of 3 executors; it has 127.0.0.1 \(1000 cores, 576 MiB\), 127"
    try:
        with pytest.raises(NotReady, match=has):
            validator.get()
    finally:
        validator.move(None)
