"""What a profile adds to a trial: costs, unless a part of the engine was not looked at."""

from pathlib import Path

import pytest

from streamgauge.profiling.profile import write_profile
from streamgauge.spec.trial import InstanceSeen
from streamgauge.trial.profiled import with_costs
from tests.unit.profiling.samples import profile, sample
from tests.unit.runs import make_trial


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = profile(sample("jvm;a;org.JacksonParser.parse", 10), a=1.0)
    (tmp_path / "profile").mkdir()
    write_profile(made.record, made.stacks, tmp_path / "profile")
    return tmp_path


def instances(*hosts: str) -> list[InstanceSeen]:
    return [InstanceSeen(name=host, host=host, slots=1, added_ms=0) for host in hosts]


def test_costs_are_of_an_input_record(folder: Path) -> None:
    trial = make_trial(metrics={"rate.appended": 1000.0}, instances=instances("localhost"))
    found = with_costs(trial, folder)
    assert found.metrics["cost.total"] == pytest.approx(1.0 / 10_000)
    assert found.metrics["cost.deserialize"] == pytest.approx(1.0 / 10_000)
    assert found.profiled_by == ["perf"]


def test_instances_on_other_hosts_leave_no_costs_and_a_warning(folder: Path) -> None:
    hosts = instances("localhost", "far.example")
    trial = make_trial(metrics={"rate.appended": 1000.0}, instances=hosts)
    found = with_costs(trial, folder)
    assert not [name for name in found.metrics if name.startswith("cost.")]
    assert "ran on other hosts, where nothing was profiled" in found.warnings[-1]
