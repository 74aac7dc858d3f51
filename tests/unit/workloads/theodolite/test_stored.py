from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from streamgauge.errors import TrialInvalid
from streamgauge.validation import tasks
from streamgauge.workloads.theodolite.answers import Rows, Stored
from streamgauge.workloads.theodolite.store import STORED
from tests.unit.workloads.theodolite.records import BEGIN, context, record, recorded, written

TEXT = f'{{"id":4,"identifier":"s_1","timestamp":{BEGIN + 5},"valueInW":12.25}}'


def expected() -> pa.Table:
    return Stored().expected(recorded([record(4, 5, 1, 12.25)]), context())


def test_each_record_is_answered_under_its_id() -> None:
    (row,) = expected().to_pylist()
    assert (row["key"], row["value"]) == ("4", TEXT.encode())
    assert (row["intended"], row["appended"]) == (BEGIN + 5, BEGIN + 8)


def test_a_record_that_was_sent_twice_makes_the_trial_invalid() -> None:
    twice = recorded([record(4, 5, 1, 12.25)] * 2)
    answers = Stored().expected(twice, context())
    (piece,) = tasks.in_buckets("expected", answers, 1)
    work = tasks.Work(
        sources={},
        forms={},
        ranges=(),
        answers=Stored(),
        context=context(),
        buckets=1,
        judged=True,
    )
    with pytest.raises(TrialInvalid, match="the record 4 more than once"):
        tasks.match_bucket(pa.Table.from_batches([piece]), work)


def test_records_that_cannot_be_read_have_no_answer() -> None:
    bad = record(4, 5, 1, 12.25).replace(b"12.25", b'"12.25ERROR"')
    assert len(Stored().expected(recorded([bad]), context())) == 0


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (TEXT, True),
        (TEXT.replace(":", " : ").replace("12.25", "1.225E1"), True),
        (TEXT.replace("12.25", "12.5"), False),
        (TEXT.replace("s_1", "s_2"), False),
        (TEXT.replace(f"{BEGIN + 5}", f"{BEGIN + 6}"), False),
        ('{"id":4,"identifier":"s_1"}', False),
    ],
)
def test_all_fields_are_compared(text: str, right: bool) -> None:
    outputs = Stored().outputs(written(text))
    assert outputs["key"].to_pylist() == ["4"]
    assert Stored().agree(expected(), outputs).tolist() == [right]


@pytest.mark.parametrize(
    ("changed", "right"),
    [
        ({}, True),
        ({"identifier": "s_2"}, False),
        ({"value_in_w": 12.5}, False),
        ({"timestamp": None}, False),
        ({"json": TEXT.replace("12.25", "12.5")}, False),
        ({"json": TEXT.replace('"id":4', '"id":5')}, False),
        ({"json": None}, False),
        ({"written_ms": BEGIN}, False),
    ],
)
def test_columns_and_json_of_a_row_must_both_be_right_and_not_too_early(
    changed: dict[str, Any], right: bool
) -> None:
    row = {
        "id": 4,
        "identifier": "s_1",
        "timestamp": BEGIN + 5,
        "value_in_w": 12.25,
        "json": TEXT,
        "written_ms": BEGIN + 9,
    }
    outputs = Rows().table_outputs({"records": pa.Table.from_pylist([row | changed], STORED)})
    assert outputs["key"].to_pylist() == ["4"]
    assert Rows().agree(expected(), outputs).tolist() == [right]


def test_an_empty_table_has_no_outputs() -> None:
    assert len(Rows().table_outputs({"records": STORED.empty_table()})) == 0
