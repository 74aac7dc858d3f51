from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.engines.spark.windows.aggregate import Aggregate, Part
from streamgauge.engines.spark.windows.pairs import Pairs
from streamgauge.measure.window_methods import Hopping
from tests.unit.engines.spark.windows.state import Group

SUMS = Aggregate(
    (Part("count", "1L", "sum"), Part("least", "value", "min"), Part("most", "value", "max")), {}
)
WHOLE = Aggregate((Part("all", "value", "list"),), {})
Sent = tuple[int, str, int]

hoppings = st.sampled_from([(6, 6), (6, 2), (7, 3), (5, 4), (9, 1)]).map(lambda s: Hopping(*s))
sendings = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from("abc"), st.integers(0, 9)), max_size=30
)


def lifted(sent: Sent) -> dict[str, Any]:
    at, key, value = sent
    return {"at": at, "key": key, "count": 1, "least": value, "most": value, "all": value}


def windows_of(records: list[Sent], windows: Hopping) -> dict[tuple[int, str], list[int]]:
    found = defaultdict(list)
    for at, key, value in records:
        for end in range(at + 1, at + windows.size_ms + 1):
            if (end - windows.size_ms) % windows.slide_ms == 0:
                found[end - windows.size_ms, key].append(value)
    return found


@given(sendings.map(sorted), hoppings, st.lists(st.integers(0, 30), max_size=4).map(sorted))
def test_each_window_is_put_out_once_whatever_the_batches_are(
    sent: list[Sent], windows: Hopping, cuts: list[int]
) -> None:
    group, found = Group(Pairs(windows, ["key"], SUMS)), []
    for begin, end in pairwise([0, *cuts, len(sent)]):
        batch = sent[begin:end]
        # A batch moves the watermark after it: the next one may bring no earlier record.
        later = sent[end:]
        found += group.batch([lifted(each) for each in batch], later[0][0] if later else 30)
    found += group.batch([], 1000)
    told = {(r["start"], r["key"]): (r["count"], r["least"], r["most"]) for r in found}
    assert len(told) == len(found)
    assert told == {
        key: (len(values), min(values), max(values))
        for key, values in windows_of(sent, windows).items()
    }
    assert not group.kept.rows
    assert not group.timers


@given(sendings, hoppings)
def test_slices_of_a_holistic_aggregate_keep_all_values(sent: list[Sent], windows: Hopping) -> None:
    group = Group(Pairs(windows, ["key"], WHOLE))
    half = len(sent) // 2
    found = group.batch([lifted(each) for each in sent[:half]], -1000)
    found += group.batch([lifted(each) for each in sent[half:]], 1000)
    told = {(r["start"], r["key"]): sorted(r["all"]) for r in found}
    assert told == {k: sorted(values) for k, values in windows_of(sent, windows).items()}


@pytest.mark.parametrize(("windows", "most"), [(Hopping(60, 1), 61), (Hopping(61, 60), 4)])
def test_there_are_no_more_slices_than_windows_need(windows: Hopping, most: int) -> None:
    group = Group(Pairs(windows, ["key"], SUMS))
    for at in range(500):
        group.batch([lifted((at, "a", 1))], at)
        assert len(group.kept.rows) <= most
