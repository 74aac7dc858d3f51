"""What a profile adds to a trial: costs, unless a part of the engine was not looked at."""

import json
from pathlib import Path

import pytest

from streamgauge.profilers.alternating import SEGMENTS
from streamgauge.profiling.overhead import Segment
from streamgauge.profiling.profile import read_profile, write_profile
from streamgauge.profiling.task_file import read_tasks
from streamgauge.report.profile.profiled import Profiled
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


def test_what_profiling_cost_is_kept_with_the_profile(folder: Path) -> None:
    turns = [
        Segment(start_ms=at * 1000, end_ms=(at + 20) * 1000, on=on, cpu_s=22.0 if on else 20.0)
        for at, on in zip(range(0, 160, 20), [False, True, True, False] * 2, strict=True)
    ]
    written = [each.model_dump() for each in turns]
    (folder / "profile" / SEGMENTS).write_text(json.dumps(written))
    trial = make_trial(metrics={"rate.appended": 1000.0}, quick=True)
    assert with_costs(trial, folder).metrics["profiling.cpu"] == pytest.approx(1.1)
    found = read_profile(folder / "profile")
    assert found is not None
    assert "CPU ×1.100" in Profiled("it", found, read_tasks("spark"), None).overhead()


def test_instances_on_other_hosts_leave_no_costs_and_a_warning(folder: Path) -> None:
    hosts = instances("localhost", "far.example")
    trial = make_trial(metrics={"rate.appended": 1000.0}, instances=hosts)
    found = with_costs(trial, folder)
    assert not [name for name in found.metrics if name.startswith("cost.")]
    assert "ran on other hosts, where nothing was profiled" in found.warnings[-1]


def test_a_backlog_is_profiled_as_a_whole(folder: Path) -> None:
    found = with_costs(make_trial(backlog=True, inputs=500, metrics={"rate.catch_up": 9.0}), folder)
    assert found.metrics["cost.total"] == pytest.approx(1.0 / 500)
