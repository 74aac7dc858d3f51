"""Profiles in their folder."""

from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.profiling.profile import ProcessSeen, read_profile, write_profile
from tests.unit.profiling.samples import profile, sample
from tests.unit.runs import make_trial


def test_a_profile_is_read_back_with_the_plan_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "profile"
    folder.mkdir()
    made = profile(sample("jvm;a;run", 99), a=1.0)
    write_profile(made.record, made.stacks, folder)
    (tmp_path / "plan.txt").write_text("*(1) Project\n")
    found = read_profile(folder)
    assert found is not None
    assert found.record == made.record
    assert list(found.stacks) == list(made.stacks)
    assert found.plan == {1: ("Project",)}
    assert found.backends == ["perf"]
    assert found.sampled == pytest.approx(1.0)
    assert found.events(make_trial(metrics={"rate.appended": 200.0})) == 2000.0
    assert found.events(make_trial(metrics={})) is None


def test_lost_samples_are_counted() -> None:
    made = profile(sample("jvm;a;run", 99), a=2.0)
    seen = ProcessSeen(pid=1, name="jvm", backend="perf", cpu_s=2.0, samples=99, lost=99)
    record = made.record.model_copy(update={"processes": [seen]})
    lossy = type(made)(record, made.stacks, {})
    assert lossy.lost == 99
    assert lossy.sampled == pytest.approx(1.0), "they were CPU time as well"


def test_no_profile_and_a_broken_one(tmp_path: Path) -> None:
    assert read_profile(tmp_path) is None
    (tmp_path / "profile.json").write_text('{"hz": "often"}')
    with pytest.raises(UsageError, match=r"profile\.json is not a readable profile: hz"):
        read_profile(tmp_path)
