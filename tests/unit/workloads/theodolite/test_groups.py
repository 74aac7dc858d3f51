from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workloads.theodolite import data
from streamgauge.workloads.theodolite.answers import GroupSums
from tests.unit.workloads.theodolite.records import (
    BEGIN,
    answered,
    context,
    record,
    recorded,
    written,
)

SINGLE, FEEDBACK = GroupSums(feedback=False), GroupSums(feedback=True)
Sent = tuple[int, int, float]


def log_of(sent: list[Sent]) -> pa.Table:
    return recorded([record(i, *each) for i, each in enumerate(sent)])


def naive(sent: list[Sent], children: int, levels: int) -> dict[str, list[float]]:
    """Add up last values along the hierarchy as it is sent, whatever numbers sensors have."""
    hierarchy = b"{" + data.hierarchy(children, levels)
    group_of = {name: group for name, (group, _) in data.members(hierarchy).items()}
    last: dict[tuple[int, str], float] = {}
    for at_ms, sensor, watts in sent:
        start = BEGIN + at_ms - (BEGIN + at_ms) % 5000
        if f"s_{sensor}" in group_of:
            last[start, f"s_{sensor}"] = watts
    total: dict[tuple[int, str], float] = defaultdict(float)
    members: dict[tuple[int, str], set[str]] = defaultdict(set)
    for (start, sensor_name), watts in last.items():
        at = sensor_name
        while at in group_of:
            members[start, group_of[at]].add(at)
            at = group_of[at]
            total[start, at] += watts
    return {
        f"{start},{group}": [len(found), total[start, group], total[start, group] / len(found)]
        for (start, group), found in members.items()
    }


def numbers(value: str) -> list[float]:
    return [float(cell) for cell in value.split(",")]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 12_000), st.integers(0, 30), st.integers(0, 3999).map(lambda k: k / 4)
        ),
        max_size=40,
    ).map(sorted),
    st.sampled_from([(2, 3), (3, 3), (1, 2), (5, 1), (4, 2)]),
)
def test_sums_agree_with_a_walk_up_the_hierarchy(sent: list[Sent], size: tuple[int, int]) -> None:
    children, levels = size
    found = answered(SINGLE, [log_of(sent)], context(children=children, levels=levels))
    assert {key: numbers(value) for key, value in found.items()} == naive(sent, children, levels)


def test_the_last_value_of_a_sensor_counts() -> None:
    sent = [(0, 0, 1.0), (1, 1, 4.0), (2, 3, 0.25), (3, 0, 2.5)]
    found = answered(SINGLE, [log_of(sent)], context(children=2, levels=2))
    assert {key: numbers(value) for key, value in found.items()} == {
        f"{BEGIN},g_1_0": [2, 6.5, 3.25],
        f"{BEGIN},g_1_2": [1, 0.25, 0.25],
        f"{BEGIN},group_lvl_0": [2, 6.75, 3.375],
    }


def test_of_two_values_at_the_same_time_the_later_in_the_log_counts() -> None:
    sent = [(7, 0, 1.0), (7, 0, 2.0)]
    found = answered(SINGLE, [log_of(sent)], context(children=1, levels=1), cut=1)
    assert numbers(found[f"{BEGIN},group_lvl_0"]) == [1, 2.0, 2.0]


def test_a_sensor_that_stops_is_in_no_later_sum() -> None:
    sent = [(0, 0, 1.0), (1, 1, 4.0), (5_000, 1, 3.0)]
    found = answered(SINGLE, [log_of(sent)], context(children=2, levels=1))
    assert [numbers(found[f"{BEGIN + at},group_lvl_0"]) for at in (0, 5_000)] == [
        [2, 5.0, 2.5],
        [1, 3.0, 3.0],
    ]


def test_markers_are_in_no_group() -> None:
    marker = record(0, 3, "s_marker_0", 0.0)
    assert answered(SINGLE, [recorded([marker])], context(children=2, levels=1)) == {}


def test_with_feedback_each_level_is_waited_for_a_window_longer() -> None:
    def needed(horizon_ms: int) -> set[str]:
        known = context(horizon_ms=BEGIN + horizon_ms, children=2, levels=3)
        found = FEEDBACK.merge(FEEDBACK.expected(log_of([(0, 5, 1.0)]), known), known)
        return {row["key"].partition(",")[2] for row in found.to_pylist() if not row["optional"]}

    assert needed(4_999) == set()
    assert needed(5_500) == {"g_2_4"}
    assert needed(10_500) == {"g_2_4", "g_1_4"}
    assert needed(15_500) == {"g_2_4", "g_1_4", "group_lvl_0"}


def test_with_feedback_a_level_waits_for_the_window_in_which_its_members_come_in() -> None:
    known = context(children=2, levels=3)
    ends = {
        answers.feedback: {
            row["key"].partition(",")[2]: row["window_end"] - BEGIN
            for row in answers.merge(
                answers.expected(log_of([(0, 5, 1.0)]), known), known
            ).to_pylist()
        }
        for answers in (SINGLE, FEEDBACK)
    }
    assert ends[True] == {"g_2_4": 5_000, "g_1_4": 10_000, "group_lvl_0": 15_000}
    assert set(ends[False].values()) == {5_000}


def test_in_one_pass_everything_is_waited_for() -> None:
    known = context(horizon_ms=0, children=2, levels=3)
    found = SINGLE.merge(SINGLE.expected(log_of([(0, 5, 1.0)]), known), known)
    assert found["optional"].to_pylist() == [False] * 3


def test_the_hierarchy_is_no_reading() -> None:
    hierarchy = b'{"id":0,"intended":1,' + data.hierarchy(2, 2)
    log = pa.concat_tables([log_of([(0, 0, 1.0)]), written(hierarchy.decode())])
    assert len(answered(SINGLE, [log], context(children=2, levels=1))) == 1


@pytest.mark.parametrize(
    ("line", "key", "right"),
    [
        (f"{BEGIN},g_1_0,2,6.5,3.25", f"{BEGIN},g_1_0", True),
        (f"{BEGIN},g_1_0,2,6.50,3.25E0", f"{BEGIN},g_1_0", True),
        (f"{BEGIN},g_1_0,1,6.5,6.5", f"{BEGIN},g_1_0", False),
        (f"{BEGIN},g_1_0,2,6.25,3.125", f"{BEGIN},g_1_0", False),
        (f"{BEGIN},g_1_0,2,6.5", None, False),
    ],
)
def test_sums_must_be_exact(line: str, key: str | None, right: bool) -> None:
    known = context(children=2, levels=2)
    found = SINGLE.merge(SINGLE.expected(log_of([(0, 0, 2.5), (1, 1, 4.0)]), known), known)
    outputs = SINGLE.outputs(written(line))
    assert outputs["key"].to_pylist() == [key]
    if key is not None:
        expected = found.filter(pa.compute.equal(found["key"], key))
        assert SINGLE.agree(expected, outputs).tolist() == [right]
