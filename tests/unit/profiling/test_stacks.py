"""Stacks in columns, as text and in files: nothing gets lost on the way."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from streamgauge.errors import UsageError
from streamgauge.profiling.stacks import (
    Group,
    Sample,
    folded,
    gather,
    read_stacks,
    unfolded,
    write_stacks,
)
from tests.unit.profiling.samples import sample, samples


def counted(taken: Iterable[Sample]) -> Counter[tuple[Group, tuple[str, ...]]]:
    found: Counter[tuple[Group, tuple[str, ...]]] = Counter()
    for each in taken:
        found[each.group, each.frames] += each.count
    return found


@given(samples)
def test_what_was_gathered_comes_out_again(taken: Sequence[Sample]) -> None:
    stacks = gather(taken)
    assert counted(stacks) == counted(taken)
    assert stacks.samples == sum(each.count for each in taken)
    assert len(stacks) == len(counted(taken)), "each different stack once"


@given(samples)
def test_folded_stacks_are_read_back(taken: Sequence[Sample]) -> None:
    assert counted(unfolded(folded(gather(taken)))) == counted(taken)


@given(taken=samples)
def test_a_file_gives_back_what_was_written(
    taken: Sequence[Sample], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("stacks") / "stacks.parquet"
    write_stacks(gather(taken), file)
    assert counted(read_stacks(file)) == counted(taken)


def test_chosen_stacks_keep_their_frames() -> None:
    taken = [sample("p;t;a;b", 1), sample("p;t", 2), sample("p;u;c", 3), sample("p;t;a", 4)]
    stacks = gather(taken)
    assert list(stacks.chosen(np.array([3, 1]))) == [taken[3], taken[1]]
    assert list(stacks.chosen(np.array([], dtype=np.int64))) == []


def test_a_semicolon_in_a_name_separates_nothing() -> None:
    (line,) = folded([Sample(Group("p", "a;b"), ("x;y",), 2)])
    assert line == "p;a:b;x:y 2"


def test_something_else_than_stacks_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "stacks.parquet"
    file.write_text("no table")
    with pytest.raises(UsageError, match=r"stacks\.parquet holds no readable stacks"):
        read_stacks(file)
