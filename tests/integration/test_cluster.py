"""Spark on an embedded cluster of two executors: engine and validator, and what can go wrong."""

import os
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from streamgauge.errors import NotReady
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.services.running import RunningService
from streamgauge.trial.bench import Bench, Event
from streamgauge.validation import hosts
from streamgauge.validation.session import Place, Session
from tests.integration.clusters import (
    PROGRAMS_OF_TRIALS,
    VALIDATION,
    Cluster,
    Killer,
    Spy,
    assert_failed,
    assert_recovered,
    executors,
    run,
)

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def test_real_time_mode_on_two_executors(
    cluster_bench: Bench,
    cluster: Cluster,
    validator: Session,
    postgres: RunningService[PostgresEndpoint],
    tmp_path: Path,
) -> None:
    """Its executors read a table: their password, like the cluster's secret, is seen nowhere."""
    secrets = cluster.endpoint.password, postgres.endpoint.password
    spy = Spy(secrets, tmp_path, cluster.members[0].log.parent)
    cpus: set[tuple[int, ...]] = set()
    listening: set[str] = set()

    def look(event: Event) -> None:
        spy(event)
        if event.get("phase") == "measure":
            cpus.update(tuple(os.sched_getaffinity(pid)) for pid in executors(cluster))
            listening.update(_listening([*cluster.processes(), *executors(cluster)]))

    result = run(cluster_bench, validator, tmp_path, "q4", listen=look)
    assert (result.status, result.valid.holds, result.correct.holds) == ("done", True, True)
    assert spy.programs >= PROGRAMS_OF_TRIALS
    assert spy.found == set()
    assert [each.host for each in result.instances] == ["127.0.0.1"] * 2
    assert all(each.lost_ms is None for each in result.instances)
    assert len(cpus) == 2, "each has CPUs of its own"
    assert listening == {"127.0.0.1"}
    used = result.metrics
    assert used["cpu.engine"] >= used["cpu.engine.driver"] > 0
    assert used["memory.engine"] > used["memory.engine.driver"]
    assert "cpu.engine.reported" not in used
    assert "memory.cluster" in used
    assert len(list((tmp_path / "001" / "logs").glob("executor-*.log"))) >= 2


def _listening(pids: list[int]) -> Iterator[str]:
    """Yield the addresses at which processes listen."""
    for pid in pids:
        for each in psutil.Process(pid).net_connections(kind="inet"):
            if each.status == psutil.CONN_LISTEN:
                yield each.laddr.ip.removeprefix("::ffff:")


def test_a_query_in_python_survives_the_loss_of_an_executor(
    cluster_bench: Bench, cluster: Cluster, validator: Session, tmp_path: Path
) -> None:
    """In micro-batches Spark gives its tasks to others; the trial says that it happened."""
    kill = Killer(cluster.members[1].pid, "measure")
    result = run(cluster_bench, validator, tmp_path, "q2", listen=kill)
    assert_recovered(result, kill, "microbatch")


def test_state_in_real_time_mode_does_not_survive_the_loss_of_an_executor(
    cluster_bench: Bench, cluster: Cluster, validator: Session, tmp_path: Path
) -> None:
    kill = Killer(cluster.members[1].pid, "measure")
    result = run(cluster_bench, validator, tmp_path, "q1", listen=kill)
    assert_failed(result, kill)


def test_continuous_mode_on_two_executors(
    cluster_bench: Bench, validator: Session, tmp_path: Path
) -> None:
    options = {"mode": "continuous"}
    result = run(cluster_bench, validator, tmp_path, "identity", engine_options=options)
    assert (result.status, result.correct.holds) == ("done", True), result.cause


def test_what_a_trial_needs_is_looked_at_from_inside(
    cluster: Cluster, validator: Session, tmp_path: Path
) -> None:
    validator.move(Place(cluster.endpoint, 2, slots=1, cores=1))
    try:
        spark = validator.get()
        spy = Spy([cluster.endpoint.password], tmp_path)
        spy({})
        assert VALIDATION in spy.programs
        assert spy.found == set()
        found = hosts.look(spark, (), "127.0.0.1", clock=lambda: time.time() + 2)
        assert all(abs(each + 2) < 0.5 for each in hosts.offsets(found).values())
        lacks = r"executors cannot reach what they need: .* kafka at .*; .* postgres at"
        with pytest.raises(NotReady, match=lacks):
            both = [("kafka", "127.0.0.1", 1), ("postgres", "127.0.0.1", 2)]
            hosts.look(spark, both, "127.0.0.1")
        hosts.try_checkpoint(spark, tmp_path.as_uri())
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(NotReady, match="file:/proc/nowhere cannot be used"):
            hosts.try_checkpoint(spark, "file:/proc/nowhere")
        spark.sparkContext.pythonVer = "3.1"  # as if ours were another one
        with pytest.raises(NotReady, match="executors' Python has another version"):
            hosts.look(spark, (), "127.0.0.1")
    finally:
        validator.move(None)


def test_a_cluster_that_refuses_or_is_too_small_says_so_in_seconds(
    cluster: Cluster, validator: Session
) -> None:
    two = Place(cluster.endpoint, 2, slots=1, cores=1)
    stranger = replace(two, cluster=replace(cluster.endpoint, password="of another"))
    has = r"it has 127.0.0.1 \(1000 cores, 576 MiB\), 127"
    with socket.create_server(("127.0.0.1", 0)) as mute:
        master = f"spark://127.0.0.1:{mute.getsockname()[1]}"
        silent = replace(two, cluster=replace(cluster.endpoint, master=master))
        try:
            for place, part in (
                (replace(two, executors=3), f"there is room for 2 of 3 executors; {has}"),
                (replace(two, slots=1001), f"there is room for 0 of 2 executors; {has}"),
                (replace(two, memory=1 << 30), f"there is room for 0 of 2 executors; {has}"),
                (stranger, "does not answer as one of Spark"),
                (silent, "does not answer as one of Spark"),
            ):
                validator.move(place)
                began_s = time.monotonic()
                with pytest.raises(NotReady, match=part):
                    validator.get()
                assert time.monotonic() - began_s < 40, "sooner than executors are given up"
        finally:
            validator.move(None)
