"""Every query of Spark on an embedded cluster, and across hosts; whatever can be lost there."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.services import runtime
from streamgauge.services.spark.embedded import EmbeddedSpark, Size
from streamgauge.spec.trial import LEAST_MEMORY
from streamgauge.trial.bench import Bench, Event
from streamgauge.validation.session import Session
from tests.conformance.cells import REFUSED, Cell, cells
from tests.conformance.test_trials import spec_of
from tests.integration import hosts as those
from tests.integration.clusters import (
    TWO,
    Cluster,
    Killer,
    Spy,
    assert_failed,
    assert_recovered,
    run,
    run_there,
)
from tests.integration.commands import events
from tests.integration.hosts import Hosts, assert_no_secrets, shared

LACKS = those.missing()
pytestmark = [pytest.mark.integration, pytest.mark.spark]
needs_root = pytest.mark.skipif(LACKS is not None, reason=LACKS or "")


ACROSS = {
    "espbench": ("--postgres", those.POSTGRES),
    "rovio": ("-P", "window=1s,500ms", "-P", "packs=50", "-P", "selectivity=0.3"),
}
"""Workloads that are run across hosts, over Kafka, with what they need there."""


def in_best_mode() -> list[Cell]:
    """List what Spark can do by each transport, in the mode that a user gets."""
    found: dict[tuple[str, str, str], Cell] = {}
    for cell in cells():
        if cell.engine == "spark":
            found.setdefault((cell.workload, cell.query, cell.transport), cell)
    return [cell for cell in found.values() if not cell.gap(REFUSED)]


@pytest.mark.parametrize("cell", in_best_mode(), ids=str)
def test_every_answer_is_right_on_two_executors(
    cluster_bench: Bench, validator: Session, tmp_path: Path, cell: Cell
) -> None:
    spec = spec_of(cell).model_copy(update={"resources": TWO})
    result = run_there(spec, cluster_bench, validator, tmp_path)
    assert result.status == "done", result.cause
    assert result.valid.holds is not False, result.valid.reason
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.expected >= 2
    assert len(result.instances) == 2


@pytest.mark.parametrize("phase", ["warm-up", "measure", "drain"])
@pytest.mark.parametrize(("query", "mode"), [("q2", "microbatch"), ("q3", "realtime")])
def test_what_can_repeat_its_tasks_survives_the_loss_of_an_executor(
    cluster_bench: Bench,
    cluster: Cluster,
    validator: Session,
    tmp_path: Path,
    query: str,
    mode: str,
    phase: str,
) -> None:
    kill = Killer(cluster.members[1].pid, phase)
    result = run(cluster_bench, validator, tmp_path, query, listen=kill)
    assert_recovered(result, kill, mode)


@pytest.mark.parametrize("phase", ["warm-up", "measure", "drain"])
@pytest.mark.parametrize(("query", "mode"), [("q1", "realtime"), ("identity", "continuous")])
def test_what_cannot_repeat_its_tasks_fails(
    cluster_bench: Bench,
    cluster: Cluster,
    validator: Session,
    tmp_path: Path,
    query: str,
    mode: str,
    phase: str,
) -> None:
    kill = Killer(cluster.members[1].pid, phase)
    options = {"mode": mode}
    result = run(cluster_bench, validator, tmp_path, query, listen=kill, engine_options=options)
    assert_failed(result, kill)


def test_a_master_that_goes_away_is_the_cause(
    bench: Bench, validator: Session, tmp_path: Path
) -> None:
    with EmbeddedSpark(size=Size(2, 1, LEAST_MEMORY)).up() as cluster:
        services = {**bench.services, "spark": cluster}

        def kill(event: Event) -> None:
            if event.get("phase") == "measure":
                os.kill(cluster.members[0].pid, signal.SIGKILL)

        there = Bench(services, validator.get, bench.cache, "test", release=validator.release)
        try:
            result = run(there, validator, tmp_path, "q3", listen=kill)
        finally:
            validator.move(None)
    assert result.status == "invalid"
    assert (result.cause or "").startswith("cluster died")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with those.hosts(tmp_path_factory.mktemp("hosts")) as made:
        yield made


@needs_root
@pytest.mark.parametrize(
    "target",
    [
        f"{each.workload}/{each.query}"
        for each in in_best_mode()
        if each.workload in ACROSS and each.transport == "kafka"
    ],
)
def test_every_answer_is_right_across_hosts(hosts: Hosts, target: str) -> None:
    workload = target.partition("/")[0]
    words = [*ACROSS[workload], "--kafka", those.KAFKA, "--partitions", "2", *shared(hosts)]
    done = those.run(hosts, target, *words)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (trial,) = told["trials"]
    assert (trial["status"], trial["correct"]) == ("done", True), trial
    assert trial["valid"] is not False, trial  # not told where a busy machine made the load late
    assert trial["metrics"]["cpu.engine.reported"] > 0
    assert_no_secrets(hosts)


@needs_root
@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "Give -E checkpoint=URI"),
        (["-S", "spark.packages=there"], "lack a package"),
    ],
)
def test_what_hosts_lack_is_told_before_the_trial(
    hosts: Hosts, words: list[str], part: str
) -> None:
    python = ["-S", f"spark.python={those.PYTHON}"]
    done = those.run(hosts, "espbench/q3", "--kafka", those.KAFKA, *python, *words)
    assert done.returncode == 3, done.stderr
    assert part in done.stderr


@needs_root
def test_tables_are_made_where_executors_do_not_see_our_folders(hosts: Hosts) -> None:
    """The harness keeps them in its cache, which is on its own host."""
    words = [*ACROSS["espbench"], "--kafka", those.KAFKA, "--partitions", "2", *shared(hosts)]
    jars = runtime.cache_dir() / "jars"
    (hosts.unseen / "jars").symlink_to(jars)
    unseen = {"STREAMGAUGE_CACHE_DIR": str(hosts.unseen)}
    done = those.run(hosts, "espbench/q4", *words, env=unseen)
    assert done.returncode == 0, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    assert (trial["status"], trial["correct"]) == ("done", True), trial


@needs_root
def test_a_given_master_that_goes_away_is_the_cause(tmp_path: Path) -> None:
    with those.hosts(tmp_path) as own:
        spy = Spy([own.secret, own.password_file.read_text()])
        words = those.command(own, "espbench/q3", "--kafka", those.KAFKA, *shared(own))
        quiet = subprocess.DEVNULL
        started = subprocess.Popen(words, env=own.environment, stdout=quiet, stderr=quiet)
        for event in events(own.folder / "runs", started):
            spy(event)
            if event.get("phase") == "measure" and own.master is not None:
                own.master.kill()
        started.wait()
        (file,) = own.folder.glob("runs/*/trials/*/trial.json")
    result = json.loads(file.read_text())
    assert result["status"] == "invalid"
    assert result["cause"].startswith("cluster died: ")
    assert spy.programs
    assert spy.found == set()
