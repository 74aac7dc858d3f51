from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import TrialInvalid
from streamgauge.validation.plan import READ, Cut, Range, buckets, ranges


def test_partitions_are_cut_into_ranges() -> None:
    assert ranges({"a": [(0, 5), (0, 0)], "out": [(0, 2)]}, aligned=1, size=4) == [
        Range("a", 0, 0, 4),
        Range("a", 0, 4, 5),
        Range("out", 0, 0, 2),
    ]


@settings(deadline=None)
@given(
    highs=st.lists(st.integers(0, 5_000), max_size=4),
    aligned=st.sampled_from([1, 7, 500]),
    size=st.integers(1, 2_000),
)
def test_ranges_hold_each_record_once_and_whole_windows(
    highs: list[int], aligned: int, size: int
) -> None:
    found = ranges({"a": [(0, high) for high in highs]}, aligned, size)
    for partition, high in enumerate(highs):
        mine = [r for r in found if r.partition == partition]
        offsets = [offset for r in mine for offset in range(r.start, r.stop)]
        assert offsets == list(range(high))
        assert all(r.start % aligned == 0 for r in mine)
        assert all(r.stop - r.start <= max(size, aligned) for r in mine)


def test_a_beginning_that_is_gone_is_an_error() -> None:
    with pytest.raises(TrialInvalid, match="first 3 records of partition 1"):
        ranges({"a": [(0, 5), (3, 9)]}, aligned=1)


@pytest.mark.parametrize(("records", "count"), [(0, 1), (50_000, 1), (50_001, 2)])
def test_buckets_grow_with_the_records(records: int, count: int) -> None:
    assert buckets([(records, READ)]) == count


def test_sources_that_are_cut_otherwise_share_the_buckets() -> None:
    assert buckets([(75_000, READ), (200, Cut(range=100, bucket=400))]) == 2
