from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import RECORDS
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.form import FRONT, JSON
from streamgauge.validation import tasks
from streamgauge.validation.plan import Range
from streamgauge.workloads.espbench.answers import Identity


@dataclass(frozen=True)
class ListedRecords:
    values: tuple[bytes, ...]

    def extent(self) -> list[tuple[int, int]]:
        return [(0, len(self.values))]

    def newest_ms(self) -> int | None:
        return len(self.values)

    def read(self, partition: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        count = stop - start
        yield pa.record_batch(
            [
                pa.array([partition] * count, pa.int32()),
                pa.array(range(start, stop), pa.int64()),
                pa.array(range(start, stop), pa.int64()),
                pa.array(self.values[start:stop], pa.binary()),
            ],
            schema=RECORDS,
        )


def work(inputs: list[bytes], outputs: list[bytes], buckets: int = 3) -> tasks.Work:
    return tasks.Work(
        sources={"a": ListedRecords(tuple(inputs)), "output": ListedRecords(tuple(outputs))},
        forms={"a": FRONT},
        ranges=(Range("a", 0, 0, len(inputs)), Range("output", 0, 0, len(outputs))),
        answers=Identity(),
        context=AnswerContext({}, 0, {}),
        buckets=buckets,
        judged=True,
    )


def read(work: tasks.Work) -> pa.Table:
    numbers = pa.record_batch({"id": pa.array(range(len(work.ranges)), pa.int64())})
    return pa.Table.from_batches(tasks.read_ranges(iter([numbers]), work))


@settings(deadline=None)
@given(
    keys=st.lists(st.none() | st.text(max_size=8), min_size=1, max_size=50),
    buckets=st.integers(1, 7),
)
def test_each_key_is_in_one_bucket_and_nothing_is_lost(
    keys: list[str | None], buckets: int
) -> None:
    table = pa.table({"key": pa.array(keys, pa.string())})
    found: dict[str | None, set[int]] = {}
    count = 0
    for batch in tasks.in_buckets("outputs", table, buckets):
        for key in tasks.unpack(batch["table"][0])["key"].to_pylist():
            found.setdefault(key, set()).add(batch["bucket"][0].as_py())
            count += 1
    assert count == len(keys)
    assert all(len(places) == 1 for places in found.values())


def test_a_bucket_is_matched_and_times_are_handed_on() -> None:
    values = [b"%d;%d;x" % (i, i) for i in range(50)]
    mine = work(values, [*values[:-1], values[0]])
    moved = read(mine)
    matches = []
    for bucket in range(mine.buckets):
        rows = tasks.match_bucket(moved.filter(pa.compute.field("bucket") == bucket), mine)
        matches += tasks.matches(rows)
    counts = [match.counts for match in matches]
    assert sum(c.correct for c in counts) == 49
    assert sum(c.missing for c in counts) == 1
    assert sum(c.duplicate for c in counts) == 1
    times = moved.filter(pa.compute.field("kind") == "times")
    assert tasks.unpack(times["table"][0])["intended"].to_pylist() == list(range(50))


def test_an_input_that_is_there_twice_is_an_error() -> None:
    mine = work([b"1;1;x", b"1;1;x"], [], buckets=1)
    with pytest.raises(TrialInvalid, match="record 1 more than once"):
        tasks.match_bucket(read(mine), mine)


def test_an_input_of_another_form_is_an_error() -> None:
    mine = replace(work([b'{"id":1,"intended":1,"x":1}', b"2;2;x"], []), forms={"a": JSON})
    with pytest.raises(TrialInvalid, match=r"record b'2;2;x': it does not begin with \{\"id\":…"):
        read(replace(mine, judged=False))


def test_times_are_read_by_the_form_of_the_stream() -> None:
    inputs = [b'{"id":%d,"intended":%d,"x":1}' % (i, 10 * i) for i in (0, 2, 1)]
    mine = replace(work(inputs, [], buckets=1), forms={"a": JSON}, judged=False)
    (times,) = [row for row in read(mine).to_pylist() if row["kind"] == "times"]
    assert '"inversions": 1' in times["facts"]
    found = tasks.unpack(pa.scalar(times["table"], pa.binary()))
    assert found["intended"].to_pylist() == [0, 20, 10]


def test_ids_that_go_down_are_counted() -> None:
    mine = work([b"%d;1;x" % i for i in (0, 2, 1, 3, 5, 4)], [], buckets=1)
    (times,) = [row for row in read(mine).to_pylist() if row["kind"] == "times"]
    assert '"inversions": 2' in times["facts"]


@dataclass(frozen=True)
class InGroups(Identity):
    """Keys with the same first digit belong together; one record is of interest to all."""

    def groups(self, keys: pa.ChunkedArray) -> pa.Array:
        found = [None if key == "99" else (key or "")[:1] for key in keys.to_pylist()]
        return pa.array(found, pa.string())


def test_groups_stay_together_and_rows_without_one_go_everywhere() -> None:
    values = [b"%d;1;x" % i for i in range(100)]
    mine = replace(work(values, values[:99], buckets=4), answers=InGroups())
    places: dict[tuple[str, str], set[int]] = {}
    for row in read(mine).to_pylist():
        if row["kind"] != "times":
            for key in tasks.unpack(pa.scalar(row["table"], pa.binary()))["key"].to_pylist():
                group = key if key == "99" else key[:1]
                places.setdefault((row["kind"], group), set()).add(row["bucket"])
    assert places.pop(("expected", "99")) == {0, 1, 2, 3}
    assert all(len(found) == 1 for found in places.values())
    for group in "123456789":
        assert places["expected", group] == places["outputs", group]
