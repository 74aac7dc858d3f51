from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import EXPECTED, OUTPUTS, RECORDS
from streamgauge.spec.answers import AnswerContext, Answers
from streamgauge.workloads.espbench.answers import (
    Errors,
    Identity,
    MachinePower,
    Outliers,
    ProcessingTimes,
    Statistics,
)
from streamgauge.workloads.espbench.answers.sos import outlier_probabilities

ALL: list[Answers] = [
    Errors(),
    Identity(),
    MachinePower(),
    Outliers(),
    ProcessingTimes(),
    Statistics(),
]
BEGIN = 1_700_000_000_000


def line(mf01: int = 13_000, mf02: int = 14_000, mf03: int = 8_500, workplace: int = 1) -> bytes:
    return b"2012-02-22T16:46:28.9670000+00:00\t7\t%d\t%d\t%d\t0042\t0\t1\t%d" % (
        mf01,
        mf02,
        mf03,
        workplace,
    )


def records(
    payloads: Sequence[bytes], appended: Sequence[int] | None = None, start: int = 0
) -> pa.Table:
    """Make records with the offset as id, intended one millisecond after another."""
    return raw(
        [b"%d;%d;%s" % (start + i, BEGIN + i, p) for i, p in enumerate(payloads)], appended, start
    )


def raw(values: Sequence[bytes | None], appended: Sequence[int] | None = None, start: int = 0):
    count = len(values)
    return pa.table(
        [
            pa.array([0] * count, pa.int32()),
            pa.array(range(start, start + count), pa.int64()),
            pa.array(appended or range(BEGIN + 5, BEGIN + 5 + count), pa.int64()),
            pa.array(values, pa.binary()),
        ],
        schema=RECORDS,
    )


def context(
    horizon_ms: int = BEGIN + 10**9, tables: Mapping[str, pa.Table] | None = None
) -> AnswerContext:
    return AnswerContext(parameters={}, horizon_ms=horizon_ms, tables=tables or {})


def judge(answers: Answers, expected: bytes, output: bytes) -> bool:
    def table(value: bytes) -> pa.Table:
        return pa.table({"value": pa.array([value], pa.binary())})

    return bool(answers.agree(table(expected), table(output))[0])


def keys(table: pa.Table) -> list[str]:
    return sorted(table["key"].to_pylist())


# ---- all


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
def test_answers_are_sent_to_other_processes(answers: Answers) -> None:
    assert pickle.loads(pickle.dumps(answers)) == answers


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
@settings(deadline=None)
@given(values=st.lists(st.none() | st.binary(max_size=40), max_size=5))
def test_no_output_is_too_bad_to_be_looked_at(answers: Answers, values: list[bytes | None]) -> None:
    outputs = answers.outputs(raw(values))
    assert outputs.schema == OUTPUTS
    assert len(outputs) == len(values)


GARBAGE = [
    b"",
    b";",
    b",",
    b"\xff\xfe\x00;1;2",
    b"-1;2;3",
    b" 1;2;3",
    b"NaN,1,2,3",
    b"1e3;5;x",
    b"\xd9\xa3;1;",
    b"12",
    None,
]


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
def test_an_unreadable_output_has_no_key(answers: Answers) -> None:
    assert answers.outputs(raw(GARBAGE))["key"].null_count == len(GARBAGE)


def test_a_key_may_be_a_huge_number() -> None:
    huge = b"9" * 400
    assert Identity().outputs(raw([huge + b";1;x"]))["key"][0].as_py() == huge.decode()
    assert Statistics().outputs(raw([huge + b",1,1"]))["key"][0].as_py() == huge.decode()


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("value", [b"", b"\xff\xff", b"1;x;" + line(), b"99999999999999999999;1;"])
def test_an_unreadable_input_is_an_error(answers: Answers, value: bytes) -> None:
    values = [value] * 500
    with pytest.raises(TrialInvalid):
        answers.expected(raw(values), context(tables={"workplace": workplaces()}))


@pytest.mark.parametrize("answers", [Errors(), MachinePower(), Outliers(), Statistics()])
@pytest.mark.parametrize("payload", [b"a\tb\t1\t2", b"a\tb\tx\ty\tz\t0\t1", b"a\tb\t\t\t\t0\t1"])
def test_a_sensor_line_that_is_none_is_an_error(answers: Answers, payload: bytes) -> None:
    with pytest.raises(TrialInvalid, match="input record"):
        answers.expected(records([payload] * 500), context(tables={"workplace": workplaces()}))


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
def test_no_records_have_no_answers(answers: Answers) -> None:
    tables = {"workplace": workplaces()}
    expected = answers.expected(RECORDS.empty_table(), context(tables=tables))
    assert answers.merge(expected, context()).schema == EXPECTED
    assert len(answers.merge(expected, context())) == 0


# ---- identity, q3, q4


def test_identity_expects_every_line() -> None:
    inputs = records([line(), line(mf01=1)])
    expected = Identity().expected(inputs, context())
    assert expected["value"].to_pylist() == inputs["value"].to_pylist()
    assert expected["key"].to_pylist() == ["0", "1"]
    assert expected["intended"].to_pylist() == [BEGIN, BEGIN + 1]
    assert expected["appended"].to_pylist() == [BEGIN + 5, BEGIN + 6]
    assert expected["window_end"].null_count == 2
    assert not any(expected["optional"].to_pylist())


def test_lines_must_be_the_same_byte_for_byte() -> None:
    assert judge(Identity(), b"1;2;a\tb", b"1;2;a\tb")
    assert not judge(Identity(), b"1;2;a\tb", b"1;2;a\tc")
    assert not judge(Identity(), b"1;2;a\tb", b"1;2;a\tb\n")


def test_q3_expects_what_lies_above_the_threshold() -> None:
    inputs = records([line(mf01=14_962), line(mf01=14_963), line(mf01=14_964), line(mf01=19_000)])
    assert keys(Errors().expected(inputs, context())) == ["2", "3"]


def workplaces(**downtimes: tuple[datetime | None, datetime | None]) -> pa.Table:
    times = [downtimes.get(f"wp{i}", (None, None)) for i in (1, 2, 3)]
    stamp = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            "wp_id": [1, 2, 3],
            "wp_downtime_start": pa.array([start for start, _ in times], stamp),
            "wp_downtime_end": pa.array([end for _, end in times], stamp),
        }
    )


def test_q4_expects_low_power_of_a_workplace_without_downtime() -> None:
    inputs = records([line(mf03=8_104), line(mf03=8_105), line(mf03=7_000, workplace=3)])
    expected = MachinePower().expected(inputs, context(tables={"workplace": workplaces()}))
    assert keys(expected) == ["0", "2"]


def test_q4_leaves_out_the_downtime_ends_included_by_intended_time() -> None:
    begin = datetime.fromtimestamp(BEGIN / 1000, UTC)
    down = (begin + timedelta(milliseconds=2), begin + timedelta(milliseconds=4))
    inputs = records([line(mf03=8_000, workplace=3)] * 7, appended=[BEGIN + 3] * 7)
    expected = MachinePower().expected(inputs, context(tables={"workplace": workplaces(wp3=down)}))
    assert keys(expected) == ["0", "1", "5", "6"]


def test_q4_compares_with_microseconds() -> None:
    begin = datetime.fromtimestamp(BEGIN / 1000, UTC)
    down = (begin + timedelta(microseconds=1_500), begin + timedelta(microseconds=3_500))
    inputs = records([line(mf03=8_000, workplace=3)] * 6)
    expected = MachinePower().expected(inputs, context(tables={"workplace": workplaces(wp3=down)}))
    assert keys(expected) == ["0", "1", "4", "5"]


def test_q4_needs_the_workplace_to_be_known() -> None:
    inputs = records([line(mf03=8_000, workplace=9)])
    with pytest.raises(TrialInvalid, match="no workplace 9"):
        MachinePower().expected(inputs, context(tables={"workplace": workplaces()}))


# ---- q1


def test_q1_brings_the_parts_of_a_window_together() -> None:
    one = records([line(mf01=10), line(mf01=21)], [BEGIN + 990, BEGIN + 999])
    two = records(
        [line(mf01=5), line(mf01=4), line(mf01=5)], [BEGIN + 995, BEGIN + 1000] * 1 + [BEGIN + 1999]
    )
    answers = Statistics()
    partials = pa.concat_tables(
        [answers.expected(one, context()), answers.expected(two, context())]
    )
    final = answers.merge(partials, context()).sort_by("key").to_pylist()
    assert final == [
        {
            "key": f"{BEGIN}",
            "value": b"%d,12.000000,5,21,3" % BEGIN,
            "intended": BEGIN + 1,
            "appended": BEGIN + 999,
            "window_end": BEGIN + 1000,
            "optional": False,
        },
        {
            "key": f"{BEGIN + 1000}",
            "value": b"%d,4.500000,4,5,2" % (BEGIN + 1000),
            "intended": BEGIN + 2,
            "appended": BEGIN + 1999,
            "window_end": BEGIN + 2000,
            "optional": False,
        },
    ]


def test_q1_does_not_compare_a_window_that_may_stay_open() -> None:
    inputs = records([line(), line(), line()], [BEGIN, BEGIN + 1000, BEGIN + 2000])
    answers = Statistics()
    final = answers.merge(answers.expected(inputs, context()), context(BEGIN + 2000))
    rows = final.sort_by("key").to_pylist()
    assert [row["optional"] for row in rows] == [False, False, True]
    assert [row["value"] is None for row in rows] == [False, False, True]


def closed_by(partitions: Sequence[Sequence[int]]) -> dict[int, bool]:
    """Answer q1 for records appended at these times, by partition; tell which must be there."""
    where = replace(context(BEGIN + max(map(max, partitions))), closed_by=len(partitions))
    answers, parts = Statistics(), []
    for number, times in enumerate(partitions):
        rows = records([line()] * len(times), [BEGIN + at for at in times])
        rows = rows.set_column(0, "partition", pa.array([number] * len(times), pa.int32()))
        cut = len(times) // 2
        parts += [answers.expected(p, where) for p in (rows.slice(0, cut), rows.slice(cut))]
    final = answers.merge(pa.concat_tables(parts), where).to_pylist()
    assert sum(int(row["value"].split(b",")[4]) for row in final if row["value"]) > 0
    return {int(row["key"]) - BEGIN: not row["optional"] for row in final}


def test_q1_is_closed_by_the_next_second() -> None:
    assert closed_by([[500, 999, 1000, 2000]]) == {0: True, 1000: True, 2000: False}


def test_q1_may_stay_open_before_an_empty_second() -> None:
    assert closed_by([[0, 1000, 3000, 4000]]) == {0: True, 1000: False, 3000: True, 4000: False}


def test_q1_is_closed_by_every_partition() -> None:
    stopped = [[0, 1000, 2000, 3000], [0, 1100, 2999], [400, 1999, 3000, 3500]]
    assert closed_by(stopped) == {0: True, 1000: False, 2000: False, 3000: False}
    assert closed_by([[0, 1000], [1500], [1999]]) == {0: True, 1000: False}


@pytest.mark.parametrize(
    ("output", "right"),
    [
        (b"1000,12.000000,5,21,3", True),
        (b"1000,12.000001,5,21,3", True),
        (b"1000,11.999999,5,21,3", True),
        (b"1000,12.000002,5,21,3", False),
        (b"1000,12.000000,5,21,4", False),
        (b"1000,12.000000,6,21,3", False),
        (b"1000,12.000000,5,22,3", False),
        (b"1000,12.0,5,21,3", False),
        (b"1000,12,5,21,3", False),
        (b"1000,NaN,5,21,3", False),
        (b"1000,,5,21,3", False),
        (b"1000,12.000000,5,21", False),
        (b"1000,12.000000,5,21,3,", False),
        (b"1000,12.000000,5.0,21,3", False),
        (b"1000," + b"9" * 5000 + b".000000,5,21,3", False),
        (b"1000,\xff,5,21,3", False),
        (b"1000,", False),
    ],
)
def test_q1_allows_the_last_digit_of_the_average(output: bytes, right: bool) -> None:
    assert judge(Statistics(), b"1000,12.000000,5,21,3", output) is right


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5_000), st.integers(-(10**6), 10**6)), min_size=1, max_size=60
    ),
    st.integers(0, 60),
)
def test_q1_does_not_depend_on_how_records_are_cut(rows: list[tuple[int, int]], cut: int) -> None:
    inputs = records([line(mf01=v) for _, v in rows], [BEGIN + at for at, _ in rows])
    answers = Statistics()
    parts = [answers.expected(p, context()) for p in (inputs.slice(0, cut), inputs.slice(cut))]
    final = answers.merge(pa.concat_tables(parts), context())
    windows: dict[int, list[int]] = {}
    for at, value in rows:
        windows.setdefault((BEGIN + at) // 1000 * 1000, []).append(value)
    assert dict(zip(final["key"].to_pylist(), final["value"].to_pylist(), strict=True)) == {
        str(start): f"{start},{sum(v) / len(v):.6f},{min(v)},{max(v)},{len(v)}".encode()
        for start, v in windows.items()
    }


# ---- q2


def test_sos_gives_the_published_probabilities() -> None:
    points = np.array([(1, 1), (2, 1), (1, 2), (2, 2), (5, 8)], dtype=np.float64)
    found = outlier_probabilities(points, perplexity=3, steps=500)
    expected = [0.2790094, 0.2577501, 0.2213613, 0.1270705, 0.9922780]
    assert np.allclose(found, expected, atol=5e-8, rtol=0)


def literal_sos(points: list[tuple[float, float]], perplexity: float, steps: int) -> list[float]:
    """Follow the definition word by word, one point at a time."""
    n = len(points)
    binding = np.zeros((n, n))
    for i in range(n):
        d = [float(np.hypot(*np.subtract(points[i], points[j]))) for j in range(n) if j != i]
        beta, low, high = 1.0, -np.inf, np.inf
        for _ in range(steps):
            a = np.exp(-beta * np.array(d))
            with np.errstate(all="ignore"):
                entropy = np.log(a.sum()) + beta * (np.array(d) * a).sum() / a.sum()
            if entropy > np.log(perplexity):
                low = beta
                beta = beta * 2 if np.isinf(high) else (beta + high) / 2
            else:
                high = beta
                beta = beta / 2 if np.isinf(low) else (beta + low) / 2
        a = np.exp(-beta * np.array(d))
        binding[i, [j for j in range(n) if j != i]] = a / a.sum()
    return [float(np.prod([1 - binding[i, j] for i in range(n) if i != j])) for j in range(n)]


@pytest.mark.parametrize("spread", [0.1, 10, 1000])
def test_sos_follows_its_definition(spread: float) -> None:
    points = np.random.default_rng(3).normal(0, spread, (60, 2))
    points[7] += 40 * spread
    literal = literal_sos([(x, y) for x, y in points], 30, 50)
    assert np.allclose(outlier_probabilities(points), literal, atol=1e-9, rtol=0)


def test_sos_takes_points_that_are_all_the_same() -> None:
    assert np.all(np.isfinite(outlier_probabilities(np.ones((500, 2)))))


def outlying(windows: int, rest: int = 0) -> pa.Table:
    """Make windows of close points with a far one as the 42nd of each."""
    rng = np.random.default_rng(5)
    mf01 = 13_000 + rng.integers(-20, 20, windows * 500 + rest)
    mf01[41::500] += 3_000
    return records([line(int(m), int(1.132 * m) - 398) for m in mf01])


def test_q2_expects_the_outliers_of_each_whole_window() -> None:
    inputs = outlying(2, rest=499)
    rows = Outliers().expected(inputs, context()).to_pylist()
    by_key = {row["key"]: row for row in rows}
    assert {"41", "541"} <= by_key.keys()
    assert all(int(key) < 1000 for key in by_key)
    far = by_key["541"]
    value, _, probability = far["value"].rpartition(b",")
    assert value == inputs["value"][541].as_py()
    assert 0.99 < float(probability) <= 1
    assert (far["intended"], far["appended"]) == (BEGIN + 999, BEGIN + 1004)
    points = np.array([[int(c) for c in v.split(b"\t")[2:4]] for v in inputs["value"].to_pylist()])
    first = outlier_probabilities(points[:500].astype(np.float64))
    wanted = {str(i) for i in np.flatnonzero(first >= 0.5)}
    assert {key for key in by_key if int(key) < 500} == wanted


@pytest.mark.parametrize(
    ("p", "kept", "optional"),
    [(0.5 - 2e-6, 0, 0), (0.5 - 5e-7, 1, 1), (0.5, 1, 1), (0.5 + 5e-7, 1, 1), (0.5 + 2e-6, 1, 0)],
)
def test_q2_leaves_a_probability_close_to_the_threshold_open(
    monkeypatch: pytest.MonkeyPatch, p: float, kept: int, optional: int
) -> None:
    def certain(points: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(points)) == 7, p, 0.1)

    name = "streamgauge.workloads.espbench.answers.outliers.outlier_probabilities"
    monkeypatch.setattr(name, certain)
    rows = Outliers().expected(records([line()] * 500), context())
    assert (len(rows), sum(rows["optional"].to_pylist())) == (kept, optional)


def test_q2_refuses_records_that_do_not_begin_with_a_window() -> None:
    with pytest.raises(TrialInvalid, match="whole windows"):
        Outliers().expected(records([line()] * 500, start=499), context())


@pytest.mark.parametrize(
    ("printed", "right"),
    [
        (b"0.57", True),
        (b"0.56", False),
        (b"0.58", False),
        (b"0.565", False),
        (b".57", False),
        (b"0.57 ", False),
        (b"NaN", False),
        (b"", False),
        (b"\xff", False),
        (b"1e0.57", False),
    ],
)
def test_q2_wants_the_probability_to_two_decimals(printed: bytes, right: bool) -> None:
    assert judge(Outliers(), b"1;2;a,0.5712345", b"1;2;a," + printed) is right


def test_q2_allows_both_roundings_of_a_half() -> None:
    assert judge(Outliers(), b"1;2;a,0.565", b"1;2;a,0.56")
    assert judge(Outliers(), b"1;2;a,0.565", b"1;2;a,0.57")


def test_q2_wants_the_same_line() -> None:
    assert not judge(Outliers(), b"1;2;a,0.57", b"1;2;b,0.57")
    assert not judge(Outliers(), b"1;2;a,0.57", b"0.57")


# ---- q5


def stamp(ms: float | None) -> datetime | None:
    return (
        None
        if ms is None
        else datetime.fromtimestamp(BEGIN / 1000, UTC) + timedelta(milliseconds=ms)
    )


def order_lines(
    times: Mapping[tuple[int, int, int], tuple[float | None, float | None]], quantity: int = 5
) -> pa.Table:
    when = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            **{
                name: pa.array([key[i] for key in times], pa.int32())
                for i, name in enumerate(ProcessingTimes.keys)
            },
            "pol_quantity": pa.array([quantity] * len(times), pa.int32()),
            "pol_start_ts": pa.array([stamp(start) for start, _ in times.values()], when),
            "pol_end_ts": pa.array([stamp(end) for _, end in times.values()], when),
        }
    )


def changes(before: pa.Table, after: pa.Table) -> list[tuple[str | None, int]]:
    tables = {"production_order_line.pristine": before, "production_order_line": after}
    outputs = ProcessingTimes().table_outputs(tables)
    assert outputs.schema == OUTPUTS
    rows = [(row["key"], row["emitted"]) for row in outputs.to_pylist()]
    return sorted(rows, key=str)


def test_q5_expects_a_time_for_each_record() -> None:
    expected = ProcessingTimes().expected(records([b"7\t2\t1\t0", b"7\t2\t1\t1"]), context())
    assert expected["key"].to_pylist() == ["7,2,1,start", "7,2,1,end"]
    assert expected["appended"].to_pylist() == [BEGIN + 5, BEGIN + 6]


@pytest.mark.parametrize("payload", [b"7\t2\t1\t2", b"7\t2\t1", b"7\t2\tx\t0", b"7\t2\t1\t0\n"])
def test_q5_refuses_what_is_no_production_time(payload: bytes) -> None:
    with pytest.raises(TrialInvalid, match="production times"):
        ProcessingTimes().expected(records([payload]), context())


def test_q5_takes_the_times_that_were_set_rounded_down() -> None:
    before = order_lines({(7, 2, 1): (None, None), (7, 3, 1): (None, None)})
    after = order_lines({(7, 3, 1): (None, None), (7, 2, 1): (10.999, 20.001)})
    assert changes(before, after) == [("7,2,1,end", BEGIN + 20), ("7,2,1,start", BEGIN + 10)]


def test_q5_sees_other_changes_as_unexpected() -> None:
    pristine = order_lines({(7, 2, 1): (1, None)})
    assert changes(pristine, pristine) == []
    assert changes(pristine, order_lines({(7, 2, 1): (1, None)}, quantity=6)) == [(None, 0)]
    assert changes(pristine, order_lines({(7, 2, 1): (2, None)})) == [(None, 0)]
    assert changes(pristine, order_lines({(7, 2, 1): (None, None)})) == [(None, 0)]
    assert changes(pristine, order_lines({})) == [(None, 0)]
    more = order_lines({(7, 2, 1): (1, None), (8, 1, 1): (5, 6)})
    assert changes(pristine, more) == [(None, 0)]


def test_q5_allows_no_time_that_was_still_to_come_when_the_table_was_read() -> None:
    sent = records([b"7\t2\t1\t0", b"7\t2\t1\t1"])
    pristine = order_lines({(7, 2, 1): (None, None)})
    done = order_lines({(7, 2, 1): (50, 50.1)}).replace_schema_metadata(
        {"read_ms": str(BEGIN + 50)}
    )
    late = order_lines({(7, 2, 1): (50, 51)}).replace_schema_metadata({"read_ms": str(BEGIN + 50)})
    answers = ProcessingTimes()
    for after, right in ((done, [True, True]), (late, [True, False])):
        tables = {"production_order_line.pristine": pristine, "production_order_line": after}
        outputs = answers.table_outputs(tables)
        assert answers.agree(answers.expected(sent, context()), outputs).tolist() == right


def test_q5_allows_no_time_before_the_record_was_appended() -> None:
    expected = pa.table({"appended": [10, 10, 10], "value": [b""] * 3})
    outputs = pa.table({"emitted": [9, 10, 11], "value": [b""] * 3})
    assert ProcessingTimes().agree(expected, outputs).tolist() == [False, True, True]
