"""Answers that grow: any step may be told, in rising order, and the last one must be."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.columns import EXPECTED, OUTPUTS
from streamgauge.measure.matching import EXAMPLES_PER_KIND, Match, match
from streamgauge.measure.steps import STEPS
from streamgauge.spec.trial import Counts

LOGGED = OUTPUTS.append(pa.field("partition", pa.int32())).append(pa.field("offset", pa.int64()))
Row = tuple[str | None, int, str, int, int]
"""Key, step, what it says, time, partition."""


def expected_of(lasts: dict[str, int]) -> pa.Table:
    rows = [
        {
            "key": key,
            "value": f"{last}:right".encode(),
            "intended": 100 + last,
            "appended": 101 + last,
            "optional": False,
        }
        for key, last in lasts.items()
    ]
    return pa.Table.from_pylist(rows, schema=EXPECTED)


def outputs_of(rows: list[Row]) -> pa.Table:
    offsets: dict[int, int] = defaultdict(int)
    found = []
    for key, step, said, emitted, partition in rows:
        found.append(
            {
                "key": key,
                "value": f"{step}:{said}".encode(),
                "emitted": emitted,
                "partition": partition,
                "offset": offsets[partition],
            }
        )
        offsets[partition] += 1
    return pa.Table.from_pylist(found, schema=LOGGED)


def steps_of(outputs: pa.Table, lasts: dict[str, int]) -> pa.Table:
    return pa.Table.from_pylist([_step(row, lasts) for row in outputs.to_pylist()], schema=STEPS)


def _step(row: dict[str, Any], lasts: dict[str, int]) -> dict[str, Any]:
    step, last = int(row["value"].partition(b":")[0]), lasts.get(row["key"], 0)
    if not 1 <= step <= last:
        return {}
    if step == last:
        return {"step": step, "last": last}
    return {
        "step": step,
        "last": last,
        "key": f"{row['key']},{step}",
        "value": f"{step}:right".encode(),
        "intended": 100 + step,
        "appended": 101 + step,
    }


def agree(expected: pa.Table, outputs: pa.Table) -> npt.NDArray[np.bool_]:
    pairs = zip(expected["value"].to_pylist(), outputs["value"].to_pylist(), strict=True)
    return np.array([want == got for want, got in pairs], dtype=np.bool_)


def matched(lasts: dict[str, int], rows: list[Row]) -> Match:
    outputs = outputs_of(rows)
    return match(expected_of(lasts), outputs, agree, None, steps_of(outputs, lasts))


def naive(lasts: dict[str, int], rows: list[Row]) -> Counts:
    counts: dict[str, int] = defaultdict(int)
    reached: dict[str | None, int] = defaultdict(int)
    for key, step, said, _, _ in rows:
        last = lasts.get(key or "", 0)
        if not 1 <= step <= last:
            counts["unexpected"] += 1
        elif step <= reached[key]:
            counts["duplicate"] += 1
        elif step == last:
            counts["correct" if said == "right" else "wrong"] += 1
        else:
            counts["intermediate" if said == "right" else "unexpected"] += 1
        if 1 <= step <= last:
            reached[key] = max(reached[key], step)
    missing = sum(reached[key] < last for key, last in lasts.items())
    return Counts(expected=len(lasts), missing=missing, **counts)


keys = st.sampled_from(["a", "b", "c"])
told = st.lists(
    st.tuples(st.none() | keys, st.integers(0, 6), st.sampled_from(["right", "false"])),
    max_size=40,
)


@given(st.dictionaries(keys, st.integers(1, 5)), told)
def test_agrees_with_a_look_at_each_output(
    lasts: dict[str, int], said: list[tuple[str | None, int, str]]
) -> None:
    rows = [(*each, number, 0) for number, each in enumerate(said)]
    found = matched(lasts, rows)
    assert found.counts == naive(lasts, rows)
    assert found.counts.outputs == len(rows)
    assert found.counts.expected == (
        found.counts.correct + found.counts.wrong + found.counts.missing
    )


def test_an_answer_may_grow_in_any_steps() -> None:
    rows: list[Row] = [("a", 2, "right", 10, 0), ("a", 3, "right", 11, 0), ("a", 7, "right", 12, 0)]
    assert matched({"a": 7}, rows).counts == Counts(expected=1, correct=1, intermediate=2)


def test_without_its_last_step_an_answer_is_missing() -> None:
    rows: list[Row] = [("a", 6, "right", 10, 0)]
    assert matched({"a": 7}, rows).counts == Counts(expected=1, missing=1, intermediate=1)


@pytest.mark.parametrize("step", [0, 8])
def test_more_or_fewer_than_there_are_is_unexpected(step: int) -> None:
    rows: list[Row] = [("a", step, "right", 10, 0), ("a", 7, "right", 11, 0)]
    assert matched({"a": 7}, rows).counts == Counts(expected=1, correct=1, unexpected=1)


def test_steps_that_do_not_go_up_are_duplicates() -> None:
    rows: list[Row] = [("a", step, "right", 10 + at, 0) for at, step in enumerate((3, 2, 3, 4))]
    assert matched({"a": 9}, rows).counts == Counts(
        expected=1, missing=1, intermediate=2, duplicate=2
    )


def test_between_partitions_time_decides_what_came_first() -> None:
    rows: list[Row] = [("a", 3, "right", 12, 0), ("a", 2, "right", 11, 1)]
    assert matched({"a": 9}, rows).counts.intermediate == 2
    swapped: list[Row] = [("a", 3, "right", 11, 0), ("a", 2, "right", 12, 1)]
    assert matched({"a": 9}, swapped).counts.duplicate == 1


def test_in_a_partition_a_clock_that_stepped_back_changes_no_order() -> None:
    rows: list[Row] = [("a", 1, "right", 20, 0), ("a", 2, "right", 15, 0), ("a", 3, "right", 16, 0)]
    assert matched({"a": 9}, rows).counts.intermediate == 3


def test_every_right_step_has_a_latency_of_its_own() -> None:
    rows: list[Row] = [
        ("a", 2, "right", 110, 0),
        ("a", 3, "false", 111, 0),
        ("a", 4, "right", 112, 0),
    ]
    found = matched({"a": 4}, rows).latencies.sort_by("emitted").to_pylist()
    assert [(row["key"], row["intended"], row["appended"], row["emitted"]) for row in found] == [
        ("a,2", 102, 103, 110),
        ("a", 104, 105, 112),
    ]
    assert all(row["correct"] for row in found)


def test_examples_tell_what_a_step_should_have_said() -> None:
    rows: list[Row] = [("a", 2, "false", 10, 0), ("a", 2, "right", 11, 0), ("z", 1, "right", 12, 0)]
    found = matched({"a": 4}, rows).examples.to_pylist()
    assert {tuple(row.values()) for row in found} == {
        ("missing", "a", b"4:right", None, 104),
        ("duplicate", "a", b"2:right", b"2:right", 11),
        ("unexpected", "a", b"2:right", b"2:false", 10),
        ("unexpected", "z", None, b"1:right", 12),
    }


def test_only_the_first_examples_are_kept() -> None:
    rows: list[Row] = [("a", 2, "right", at, 0) for at in range(100)]
    assert matched({"a": 4}, rows).examples["kind"].to_pylist().count("duplicate") == (
        EXAMPLES_PER_KIND
    )
