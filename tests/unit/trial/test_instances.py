"""What an engine runs on in a trial."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from streamgauge.jobfile import JobSpec
from streamgauge.services.running import RunningService
from streamgauge.services.spark.endpoint import SparkEndpoint
from streamgauge.spec.trial import InstanceSeen, ResourceSpec, TrialSpec
from streamgauge.trial import instances as trial_instances
from streamgauge.trial.bench import Bench, TrialState
from streamgauge.trial.instances import Instances
from streamgauge.trial.probes import DRIVER, ReportedCpu, engine_processes, with_driver

ALL = tuple(sorted(os.sched_getaffinity(0)))
CLUSTER = SparkEndpoint("spark://10.0.0.1:7077", "10.0.0.9")


class Engine:
    """One that may have instances."""

    cluster: ClassVar[str] = "spark"


def instances(members: tuple[Any, ...] = (), **asked: Any) -> tuple[Instances, TrialState]:
    spec = TrialSpec(
        number=1,
        workload="espbench",
        query="q3",
        parameters={},
        engine="spark",
        rate=1.0,
        duration_s=1.0,
        warmup_s=0.0,
        partitions=asked.get("instances") or 1,
        resources=ResourceSpec(**asked),
    )
    service = RunningService("spark", "cluster", CLUSTER, members)
    bench = Bench({"spark": service}, lambda: pytest.fail("no Spark"), Path(), "test")
    state = TrialState(spec)
    return Instances(state, bench, Engine()), state  # type: ignore[arg-type]


def test_partitions_that_instances_cannot_share_evenly_are_warned_of() -> None:
    found, state = instances(instances=2)
    found._state.spec = state.spec.model_copy(update={"partitions": 3})
    found.resources()
    assert state.warnings[0].startswith("3 partition(s) are not a multiple of 2 instances")


def test_in_one_process_an_engine_has_cpus_and_no_cluster() -> None:
    found, _ = instances(cores=1)
    assert found.resources().cpus == ALL[:1]
    assert found.resources().cluster is None
    assert found.others_cpus() == ALL[1:]
    free, _ = instances()
    assert (free.resources().cpus, free.others_cpus()) == (ALL, ())


def test_on_a_given_cluster_nothing_here_is_pinned() -> None:
    found, state = instances(instances=2)
    assert found.resources().cluster is CLUSTER
    assert (found.resources().cpus, found.others_cpus()) == (ALL, ())
    assert state.warnings == []


def test_senders_leave_alone_the_cpus_of_our_own_instances() -> None:
    found, state = instances(members=("worker",), instances=1)
    assert found.others_cpus() == ALL[1:]
    many, warned = instances(members=("worker",), instances=len(ALL) + 1)
    many.resources()
    assert many.others_cpus() == ()
    assert "no instance has CPUs of its own" in warned.warnings[0]
    assert state.warnings == []


def test_the_worst_clock_of_the_hosts_is_that_of_the_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before and after: a trial with an offset of 5 ms or more is invalid."""
    found, state = instances(instances=2)
    found._bench = replace(found._bench, spark=cast("Any", lambda: None))
    monkeypatch.setattr(trial_instances, "look_at_hosts", lambda *_: {"a": 0.001, "b": -0.02})
    monkeypatch.setattr(trial_instances, "look_at_clocks", lambda *_: {"a": 0.003, "b": 0.001})
    state.resolved = JobSpec(
        workload="espbench",
        query="q3",
        parameters={},
        partitions=1,
        seed=1,
        options={},
        least_rate=1.0,
    )
    told: list[Any] = []
    found.look(cast("Any", None), told.append)
    found.look_again(cast("Any", None), told.append)
    assert state.clock_offsets_s == {"a": 0.003, "b": -0.02}
    assert state.clock_offset_s == -0.02
    notes = [each["note"] for each in told]
    assert notes[0] == "clocks of the cluster's hosts: a +1.0 ms, b -20.0 ms"
    assert "cannot be measured from here" in notes[1]


class Job:
    """A job on a cluster; the second instance was lost."""

    cpu_s: float | None = 1.0

    def processes(self) -> Sequence[int]:
        return [1]

    def instance_processes(self) -> Sequence[int]:
        return [2, 3]

    def instances(self) -> Sequence[InstanceSeen]:
        there = InstanceSeen(name="0", host="a", slots=1, added_ms=1)
        return [there, there.model_copy(update={"name": "1", "lost_ms": 5, "reason": "killed"})]

    def reported_cpu_s(self) -> float | None:
        return self.cpu_s


def test_a_lost_instance_is_told() -> None:
    found, state = instances(instances=2)
    found.note(Job())  # type: ignore[arg-type]
    assert [each.name for each in state.instances] == ["0", "1"]
    assert state.warnings == ["instance 1 of the engine on a was lost: killed"]


def test_the_driver_is_a_part_of_the_engine() -> None:
    roles = engine_processes(Job())  # type: ignore[arg-type]
    assert {role: list(find()) for role, find in roles.items()} == {"engine": [2, 3], DRIVER: [1]}
    row = with_driver({"cpu.engine": 1.0, f"cpu.{DRIVER}": 0.25, "memory.sender": 3.0})
    assert row["cpu.engine"] == 1.25


def test_a_part_is_not_taken_for_the_whole() -> None:
    """Executors on other hosts are not seen: what the engine used in all is not known."""
    row = {f"cpu.{DRIVER}": 0.25, f"memory.{DRIVER}": 5.0}
    assert with_driver(dict(row)) == row


def test_cpu_time_that_is_reported_becomes_cores() -> None:
    job = Job()
    probe = ReportedCpu(job)  # type: ignore[arg-type]
    assert probe.sample(10.0) == {}
    job.cpu_s = 4.0
    assert probe.sample(12.0) == {"cpu.engine.reported": 1.5}
    job.cpu_s = None
    assert probe.sample(13.0) == {}
