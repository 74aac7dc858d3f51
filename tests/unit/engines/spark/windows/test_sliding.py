from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streamgauge.engines.spark.windows.aggregate import Aggregate, Part
from streamgauge.engines.spark.windows.sliding import Sliding
from tests.unit.engines.spark.windows.state import Group

ALL = Aggregate(
    (
        Part("sum", "value", "sum"),
        Part("least", "value", "min"),
        Part("most", "value", "max"),
        Part("all", "value", "list"),
    ),
    {},
)
Sent = tuple[int, str, int]
sendings = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from("abc"), st.integers(-9, 9)), max_size=30
).map(sorted)


def lifted(number: int, sent: Sent) -> dict[str, Any]:
    at, key, value = sent
    parts = dict.fromkeys(("sum", "least", "most", "all"), value)
    return {"at": at, "id": number, "key": key, **parts}


@given(sendings, st.integers(1, 20), st.lists(st.integers(0, 30), max_size=4).map(sorted))
def test_each_record_is_answered_once_by_what_its_key_had_before_it(
    sent: list[Sent], length: int, cuts: list[int]
) -> None:
    group, found = Group(Sliding(length, ["key"], ALL)), []
    for begin, end in pairwise([0, *cuts, len(sent)]):
        batch = [lifted(number, sent[number]) for number in range(begin, min(end, len(sent)))]
        later = sent[end:]
        # Records of the same millisecond may still come.
        found += group.batch(batch, later[0][0] if later else 20)
    found += group.batch([], 50) + group.batch([], 1000)
    assert sorted(row["id"] for row in found) == list(range(len(sent)))
    for row in found:
        at, key, _ = sent[row["id"]]
        inside = [value for t, k, value in sent if k == key and at - length <= t <= at]
        assert (row["at"], row["key"]) == (at, key)
        assert (row["sum"], row["least"], row["most"]) == (sum(inside), min(inside), max(inside))
        assert sorted(row["all"]) == sorted(inside)
    assert not group.timers
    assert not group.kept.rows
