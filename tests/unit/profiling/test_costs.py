"""From samples to CPU time: groups keep theirs, tasks share it, intervals hold the estimate."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.profiling.costs import UNSAMPLED, costs, wilson
from streamgauge.profiling.profile import Profile, ProfileRecord, ThreadCpu
from streamgauge.profiling.stacks import Sample, gather
from streamgauge.profiling.task_file import read_tasks
from streamgauge.profiling.tasks import UNMATCHED
from tests.unit.profiling.samples import profile, sample, samples, tasks

BY = tasks(parse="^parse", write="^write")


def test_a_groups_cpu_time_is_shared_out_by_its_own_samples() -> None:
    made = profile(
        sample("jvm;a;parse", 30),
        sample("jvm;a;write", 10),
        sample("jvm;b;write", 5),
        a=8.0,
        b=1.0,
    )
    found = {each.task: each.cpu_s for each in costs(made, BY).by_task()}
    assert found == {"parse": 6.0, "write": pytest.approx(3.0)}


def test_threads_without_a_sample_are_told_apart() -> None:
    by = read_tasks("spark")
    made = profile(sample("jvm;a;x"), a=1.0, idle=0.5, **{"GC Thread": 2.0})
    found = {each.task: each.cpu_s for each in costs(made, by).by_task()}
    assert found == {"jvm.gc": 2.0, UNMATCHED: 1.0, UNSAMPLED: 0.5}


def test_an_idle_engine_costs_nothing_and_breaks_nothing() -> None:
    empty = costs(profile(), BY)
    assert (empty.costs, empty.cpu_s, empty.samples, empty.unmatched) == ((), 0, 0, ())


def test_no_match_at_all_lists_the_leaves_by_frequency() -> None:
    made = profile(sample("jvm;a;x;y", 2), sample("jvm;a;x;z", 3), sample("jvm;a", 1), a=1.0)
    found = costs(made, BY)
    assert [each.task for each in found.costs] == [UNMATCHED]
    assert found.unmatched == (("z", 3), ("y", 2), ("(a)", 1))


@given(samples, st.lists(st.floats(0, 1e4), min_size=6, max_size=6))
def test_nothing_is_lost_or_made_up(taken: Sequence[Sample], cpu: Sequence[float]) -> None:
    groups = sorted({each.group for each in taken})
    threads = [
        ThreadCpu(process=group.process, thread=group.thread, cpu_s=cpu_s)
        for group, cpu_s in zip(groups, cpu, strict=False)
    ]
    record = ProfileRecord(hz={}, seconds=1, threads=threads)
    found = costs(Profile(record, gather(taken), {}), tasks(one="f[0-3]", two="f4"))
    assert found.cpu_s == pytest.approx(sum(each.cpu_s for each in threads))
    for each in (*found.costs, *found.by_task(), *found.by_role()):
        assert 0 <= each.low_s <= each.cpu_s * (1 + 1e-9)
        assert each.cpu_s <= each.high_s * (1 + 1e-9)
    assert sum(each.cpu_s for each in found.by_task()) == pytest.approx(found.cpu_s)
    assert sum(each.cpu_s for each in found.by_role()) == pytest.approx(found.cpu_s)


@given(st.integers(0, 500), st.integers(0, 500))
def test_an_interval_of_a_share_holds_it_and_narrows(one: int, other: int) -> None:
    hits, trials = min(one, other), max(one, other)
    low, high = wilson(hits, trials)
    assert 0 <= low <= (hits / trials if trials else 0.5) <= high <= 1
    wider = wilson(hits * 4, trials * 4)
    assert wider[1] - wider[0] <= high - low


def test_the_interval_is_wilsons() -> None:
    assert wilson(100, 1000) == (pytest.approx(0.08291, abs=1e-5), pytest.approx(0.12015, abs=1e-5))
    assert wilson(0, 0) == (0.0, 1.0)
