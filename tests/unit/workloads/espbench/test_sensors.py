import re

import numpy as np
import pytest

from streamgauge.errors import UsageError
from streamgauge.workloads.espbench import sensors

LINE = re.compile(
    rb"2012-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}\+00:00\t[1-9]\d*\t\d{5}\t\d{5}\t\d{4}"
    rb"(\t\d{4}){7}(\t[01]){44}\t3"
)


def test_a_line_has_the_published_columns() -> None:
    for line in sensors.lines(2_000, 3, seed=1):
        assert LINE.fullmatch(line)
        assert line.count(b"\t") == 56


def test_a_message_is_about_205_bytes_long() -> None:
    assert len(b"1000000;1700000000000;" + sensors.lines(1, 1, seed=1)[0]) == 205


def test_lines_show_the_numbers_of_the_table() -> None:
    table = sensors.table(30_000, 12, seed=4)
    fields = [line.split(b"\t") for line in sensors.lines(30_000, 12, seed=4)]
    for column, values in ((2, table.mf01), (3, table.mf02), (4, table.mf03)):
        assert [int(row[column]) for row in fields] == values.tolist()
    assert {row[56] for row in fields} == {b"12"}


def test_index_and_time_go_on_from_row_to_row() -> None:
    fields = [line.split(b"\t") for line in sensors.lines(20_000, 1, seed=2)]
    assert set(np.diff([int(row[1]) for row in fields])) == {1}
    times = np.array([row[0][:27].decode() for row in fields], "datetime64[ns]")
    assert set(np.diff(times).astype(int)) == {10_000_000}


def test_same_seed_and_workplace_give_the_same_bytes() -> None:
    assert sensors.lines(5_000, 1, seed=9) == sensors.lines(5_000, 1, seed=9)


@pytest.mark.parametrize(("workplace", "seed"), [(2, 9), (1, 10)])
def test_another_workplace_or_seed_gives_other_noise(workplace: int, seed: int) -> None:
    one, other = sensors.table(5_000, 1, 9), sensors.table(5_000, workplace, seed)
    assert np.mean(one.mf02 == other.mf02) < 0.1


def test_the_marker_is_an_ordinary_line_that_every_predicate_selects() -> None:
    fields = sensors.marker().split(b"\t")
    assert [len(field) for field in fields] == [
        len(field) for field in sensors.lines(1, 1, seed=0)[0].split(b"\t")
    ]
    assert int(fields[2]) > 14_963
    assert int(fields[4]) < 8_105
    assert fields[56] == b"1"


def test_no_lines_are_no_lines() -> None:
    assert sensors.lines(0, 1, seed=1) == []


def test_more_lines_than_the_index_has_digits_for_are_refused() -> None:
    with pytest.raises(UsageError, match="10000000 distinct sensor lines"):
        sensors.lines(10_000_000, 1, seed=1)
