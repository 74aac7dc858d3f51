"""Outputs that are nearly right, or not at all: each is caught and counted as what it is."""

from collections.abc import Callable, Sequence
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.columns import RECORDS
from streamgauge.measure.matching import match
from streamgauge.spec.answers import AnswerContext, Answers
from streamgauge.spec.trial import Counts
from streamgauge.validation.tasks import logged_outputs
from streamgauge.workloads.espbench.answers import Identity, Outliers, Statistics

BEGIN = 1_700_000_000_000
CONTEXT = AnswerContext(parameters={}, horizon_ms=BEGIN + 10**9, tables={})
MISSED = {"missing": 1, "unexpected": 1}
"""What another id looks like: nobody expects it, and the right one is not there."""


def records(values: Sequence[bytes | None], partitions: Sequence[int] = ()) -> pa.Table:
    """Put values into a log, a millisecond apart."""
    count = len(values)
    return pa.table(
        [
            pa.array(partitions or [0] * count, pa.int32()),
            pa.array(range(count), pa.int64()),
            pa.array([BEGIN + 300 * number for number in range(count)], pa.int64()),
            pa.array(values, pa.binary()),
        ],
        schema=RECORDS,
    )


def inputs(count: int) -> list[bytes]:
    """Make sensor lines; one of each hundred is far off, each at another place."""
    powers = [13_000 + i % 20 + (2_000 + 20 * i) * (i % 100 == 7) for i in range(count)]
    line = b"%d;%d;2012-02-22T16:46:28.9670000+00:00\t7\t%d\t%d\t8500\t0042\t1"
    return [line % (i, BEGIN + i, power, power + 900) for i, power in enumerate(powers)]


@cache
def right_outputs(query: str) -> tuple[Answers, pa.Table, list[bytes]]:
    """Return the answers, what is expected of some inputs, and what a right engine prints."""
    answers, count = SENT[query]
    expected = answers.merge(answers.expected(records(inputs(count)), CONTEXT), CONTEXT)
    values: list[bytes] = sorted(expected["value"].to_pylist())
    if isinstance(answers, Outliers):
        pairs = (value.rpartition(b",") for value in values)
        values = [b"%b,%.2f" % (line, float(p)) for line, _, p in pairs]
    assert len(values) > 3
    return answers, expected, values


def judged(answers: Answers, expected: pa.Table, got: pa.Table) -> Counts:
    return match(expected, logged_outputs(answers, got), answers.agree).counts


def broken(count: int, **errors: int) -> Counts:
    lost = errors.get("wrong", 0) + errors.get("missing", 0)
    return Counts(expected=count, correct=count - lost, **errors)


Change = Callable[[bytes], list[bytes | None]]

OF_ANY: dict[str, tuple[Change, dict[str, int]]] = {
    "nothing": (lambda v: [v], {}),
    "lost": (lambda v: [], {"missing": 1}),
    "twice": (lambda v: [v, v], {"duplicate": 1}),
    "again, otherwise": (lambda v: [v, v + b"0"], {"duplicate": 1}),
    "otherwise, then right": (lambda v: [v + b"0", v], {"wrong": 1, "duplicate": 1}),
    "line end": (lambda v: [v + b"\n"], {"wrong": 1}),
    "Windows line end": (lambda v: [v + b"\r\n"], {"wrong": 1}),
    "blank after": (lambda v: [v + b" "], {"wrong": 1}),
    "garbage after": (lambda v: [v + b"\xff"], {"wrong": 1}),
    "zero byte after": (lambda v: [v + b"\0"], {"wrong": 1}),
    "cut off": (lambda v: [v[:-1]], {"wrong": 1}),
    "blank before": (lambda v: [b" " + v], MISSED),
    "line end before": (lambda v: [b"\n" + v], MISSED),
    "byte order mark": (lambda v: [b"\xef\xbb\xbf" + v], MISSED),
    "zero before the id": (lambda v: [b"0" + v], MISSED),
    "plus before the id": (lambda v: [b"+" + v], MISSED),
    "minus before the id": (lambda v: [b"-" + v], MISSED),
    "huge id": (lambda v: [b"9" * 5_000 + v], MISSED),
    "quoted": (lambda v: [b'"' + v + b'"'], MISSED),
    "UTF-16": (lambda v: [v.decode().encode("utf-16-le")], MISSED),
    "Arabic digits": (lambda v: ["".join(map(_arabic, v.decode())).encode()], MISSED),
    "empty": (lambda v: [b""], MISSED),
    "null": (lambda v: [None], MISSED),
    "an empty one beside": (lambda v: [v, b""], {"unexpected": 1}),
    "the id alone": (lambda v: [v[: len(_id(v)) + 1]], {"wrong": 1}),
    "the id without its end": (lambda v: [_id(v)], MISSED),
}


def _arabic(letter: str) -> str:
    return chr(0x660 + int(letter)) if letter.isdecimal() else letter


def _id(value: bytes) -> bytes:
    return value[: min(value.index(mark) for mark in b";," if mark in value)]


SENT: dict[str, tuple[Answers, int]] = {
    "identity": (Identity(), 20),
    "q1": (Statistics(), 40),
    "q2": (Outliers(), 1_000),
}


@pytest.mark.parametrize("query", SENT)
@pytest.mark.parametrize("attack", OF_ANY)
def test_an_output_that_is_not_right_is_counted_as_what_it_is(query: str, attack: str) -> None:
    answers, expected, values = right_outputs(query)
    change, errors = OF_ANY[attack]
    got = records([values[0], *change(values[1]), *values[2:]])
    assert judged(answers, expected, got) == broken(len(values), **errors)


@pytest.mark.parametrize("query", SENT)
@pytest.mark.parametrize("separator", [b"", b"\n", b"\0"])
def test_two_outputs_in_one_message_are_one_wrong_and_one_missing(
    query: str, separator: bytes
) -> None:
    answers, expected, values = right_outputs(query)
    got = records([separator.join(values[:2]), *values[2:]])
    assert judged(answers, expected, got) == broken(len(values), wrong=1, missing=1)


@pytest.mark.parametrize("query", SENT)
def test_values_that_belong_to_each_others_ids_are_wrong(query: str) -> None:
    answers, expected, values = right_outputs(query)
    (one, first), (other, second) = ((_id(value), value[len(_id(value)) :]) for value in values[:2])
    got = records([one + second, other + first, *values[2:]])
    assert judged(answers, expected, got) == broken(len(values), wrong=2)


@pytest.mark.parametrize("query", SENT)
def test_the_partition_of_an_output_is_of_no_matter(query: str) -> None:
    answers, expected, values = right_outputs(query)
    got = records(values[::-1], [7 * (number % 3) for number in range(len(values))])
    assert judged(answers, expected, got) == broken(len(values))


NUMBERS = ["12", "12.0", "1.2e1", "012.000000", "+12.000000", "12,000000", "１２.000000"]
NUMBERS += ["12.000000f", "0xC", "NaN", "nan", "inf", "Infinity", "", " 12.000000", "12.0000000"]
NUMBERS += ["-12.000000", "--12.000000", "12.00000_0", "1_2.000000", "12.-00000", "٣.000000"]


@pytest.mark.parametrize("number", NUMBERS)
def test_an_average_in_another_format_is_wrong(number: str) -> None:
    value = f"{BEGIN},{{}},5,21,3".format
    expected = pa.table({"value": pa.array([value("12.000000").encode()], pa.binary())})
    got = pa.table({"value": pa.array([value(number).encode()], pa.binary())})
    assert Statistics().agree(expected, expected).tolist() == [True]
    assert Statistics().agree(expected, got).tolist() == [False]


def test_a_zero_may_have_a_sign() -> None:
    """A float that is a little below zero is printed so, also by us."""
    expected, got = (
        pa.table({"value": pa.array([b"1000,%b0.000000,0,0,9" % sign], pa.binary())})
        for sign in (b"", b"-")
    )
    assert Statistics().agree(expected, got).tolist() == [True]


@pytest.mark.parametrize("number", ["00.57", "+0.57", "-0.57", "5.7e-1", "0,57", "0.57\n", "٠.57"])
def test_a_probability_in_another_format_is_wrong(number: str) -> None:
    expected = pa.table({"value": pa.array([b"1;2;a,0.5712"], pa.binary())})
    got = pa.table({"value": pa.array([b"1;2;a," + number.encode()], pa.binary())})
    assert Outliers().agree(expected, got).tolist() == [False]


@given(st.sampled_from(list(SENT)), st.data())
def test_any_other_byte_is_an_error(query: str, data: st.DataObject) -> None:
    answers, expected, values = right_outputs(query)
    at = data.draw(st.integers(0, len(values[1]) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != values[1][at]))
    spoilt = values[1][:at] + bytes([byte]) + values[1][at + 1 :]
    counts = judged(answers, expected, records([values[0], spoilt, *values[2:]]))
    if query != "q1" or not _within_a_millionth(values[1], spoilt):
        assert counts.correct == len(values) - 1
        assert counts.outputs == len(values)


def _within_a_millionth(value: bytes, other: bytes) -> bool:
    """Tell whether only the last digit of an average differs, by one: that is allowed."""
    end = [i for i, byte in enumerate(value) if byte == ord(",")][1] - 1
    same = value[:end] == other[:end] and value[end + 1 :] == other[end + 1 :]
    return same and other[end : end + 1].isdigit() and abs(value[end] - other[end]) == 1
