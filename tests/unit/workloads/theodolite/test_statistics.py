from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median, pvariance

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.matching import match
from streamgauge.spec.answers import AnswerContext, AnswersInGroups, AnswersInSteps
from streamgauge.spec.trial import Counts
from streamgauge.validation.tasks import logged_outputs
from streamgauge.workloads.theodolite.answers import (
    EachStatistics,
    SlidingStatistics,
    Statistics,
    StepwiseStatistics,
)
from streamgauge.workloads.theodolite.answers.readings import readings
from tests.unit.workloads.theodolite.records import (
    BEGIN,
    answered,
    context,
    record,
    recorded,
    written,
)

UC2, UC3 = Statistics("uc2"), Statistics("uc3")
EVERY, STEPWISE = EachStatistics("uc3"), StepwiseStatistics("uc3")
SLIDING = SlidingStatistics("uc3")
CYCLE = {"attribute": "cycle:3:2s"}
Sent = tuple[int, int, float]
"""Time, sensor, power."""


def log_of(sent: list[Sent], partition: int = 0) -> pa.Table:
    return recorded([record(i, *each) for i, each in enumerate(sent)], partition)


def windows(at_ms: int, size_ms: int, slide_ms: int) -> list[int]:
    newest = at_ms - at_ms % slide_ms
    return list(range(newest, at_ms - size_ms, -slide_ms))


def summary(values: list[float]) -> list[float]:
    return [len(values), sum(values), fmean(values), min(values), max(values), pvariance(values)]


def naive(sent: list[Sent], size_ms: int, slide_ms: int) -> dict[str, list[list[float]]]:
    """Return of each key what its first records amount to, their number growing."""
    values: dict[str, list[float]] = defaultdict(list)
    found: dict[str, list[list[float]]] = defaultdict(list)
    for at_ms, sensor, watts in sent:
        time_ms = BEGIN + at_ms
        for start in windows(time_ms, size_ms, slide_ms):
            key = f"{start},{time_ms // 2000 % 3},s_{sensor}"
            values[key].append(watts)
            found[key].append(summary(values[key]))
    return found


def numbers(value: str) -> list[float]:
    return [float(cell) for cell in value.split(",")]


sendings = st.lists(
    st.tuples(st.integers(0, 9_000), st.integers(0, 3), st.integers(0, 3999).map(lambda k: k / 4)),
    max_size=30,
).map(sorted)


@given(sendings, st.sampled_from([(4, 1), (3, 3), (6, 2), (5, 2)]))
def test_hopping_windows_agree_with_a_look_at_each_record(
    sent: list[Sent], window: tuple[int, int]
) -> None:
    size, slide = window
    known = context(window=float(size), slide=float(slide), **CYCLE)
    expected = naive(sent, size * 1000, slide * 1000)
    found = answered(UC3, [log_of(sent)], known)
    assert found.keys() == expected.keys()
    for key, value in found.items():
        assert numbers(value) == pytest.approx(expected[key][-1], rel=1e-12, abs=1e-9)


@given(sendings, st.sampled_from([(4, 1), (5, 2)]))
def test_of_a_window_its_sum_or_its_median_may_be_told(
    sent: list[Sent], window: tuple[int, int]
) -> None:
    size, slide = window
    values: dict[str, list[float]] = defaultdict(list)
    for at_ms, sensor, watts in sent:
        for start in windows(BEGIN + at_ms, size * 1000, slide * 1000):
            values[f"{start},{(BEGIN + at_ms) // 2000 % 3},s_{sensor}"].append(watts)
    for aggregate, tell in {"sum": sum, "median": median}.items():
        known = context(window=float(size), slide=float(slide), aggregate=aggregate, **CYCLE)
        found = answered(UC3, [log_of(sent)], known)
        assert {key: numbers(value) for key, value in found.items()} == {
            key: [len(each), tell(each)] for key, each in values.items()
        }


def test_statistics_are_no_answer_where_a_sum_is_wanted() -> None:
    known = context(window=4.0, slide=4.0, aggregate="sum", **CYCLE)
    log = log_of([(0, 1, 2.0), (1, 1, 4.0)])
    expected = UC3.merge(UC3.expected(log, known), known)
    (key,) = expected["key"].to_pylist()
    for told, right in (("2,6.0", 1), ("2,7.0", 0), ("2,6.0,3,2,4,1", 0), ("0,0,0,0,2,6.0", 0)):
        outputs = logged_outputs(UC3, written(f"{key},{told}"))
        counts = match(expected, outputs, UC3.agree).counts
        assert (counts.correct, counts.wrong) == (right, 1 - right), told


@pytest.mark.parametrize("answers", [UC2, UC3, SLIDING])
def test_a_sum_is_no_answer_where_statistics_are_wanted(answers: Statistics) -> None:
    known = context(window=4.0, slide=4.0, **CYCLE)
    log = log_of([(0, 1, 2.0)])
    expected = answers.merge(answers.expected(log, known), known)
    (key,) = expected["key"].to_pylist()
    for told, right in (("1,2.0,2,2,2,0", 1), ("1,2.0,2,2,3,0", 0), ("1,2.0", 0)):
        outputs = logged_outputs(answers, written(f"{key},{told}"))
        counts = match(expected, outputs, answers.agree).counts
        assert (counts.correct, counts.wrong) == (right, 1 - right), told


@given(sendings)
def test_every_record_is_answered_in_each_of_its_windows(sent: list[Sent]) -> None:
    known = context(window=4.0, slide=1.0, **CYCLE)
    expected = naive(sent, 4000, 1000)
    found = answered(EVERY, [log_of(sent)], known)
    assert len(found) == 4 * len(sent)
    for key, value in found.items():
        place, _, count = key.rpartition(",")
        assert numbers(value) == pytest.approx(expected[place][int(count) - 1], rel=1e-12, abs=1e-9)


def test_a_tumbling_window_tells_six_numbers() -> None:
    sent = [(0, 7, 1.0), (4_000, 7, 2.5), (9_999, 8, 4.0), (10_000, 7, 3.0)]
    found = answered(UC2, [log_of(sent)], context())
    assert {key: numbers(value) for key, value in found.items()} == {
        f"{BEGIN},s_7": [2, 3.5, 1.75, 1.0, 2.5, 0.5625],
        f"{BEGIN},s_8": [1, 4.0, 4.0, 4.0, 4.0, 0.0],
        f"{BEGIN + 10_000},s_7": [1, 3.0, 3.0, 3.0, 3.0, 0.0],
    }


def test_a_power_that_never_changes_has_no_variance() -> None:
    sent = [(number, 1, 0.25 * 1333) for number in range(1000)]
    (value,) = answered(UC2, [log_of(sent)], context(), cut=100).values()
    assert numbers(value)[-1] == 0.0


def test_records_that_cannot_be_read_are_left_out() -> None:
    good = record(0, 5, 1, 2.0)
    no_json = good.replace(b'"s_1"', b"s_1")
    no_number = good.replace(b"2.0}", b'"2.0ERROR"}')
    assert len(readings(recorded([good, no_json, no_number]))) == 1
    found = answered(UC2, [recorded([no_json, good, no_number])], context())
    assert [numbers(value)[0] for value in found.values()] == [1]


def test_a_record_that_lies_there_twice_counts_twice() -> None:
    twice = [record(0, 5, 1, 2.0), record(0, 5, 1, 2.0)]
    (value,) = answered(UC2, [recorded(twice)], context()).values()
    assert numbers(value)[:2] == [2, 4.0]
    (first, second) = answered(
        EVERY, [recorded(twice)], context(window=1.0, slide=1.0, **CYCLE)
    ).items()
    assert (first[0][-2:], second[0][-2:]) == (",1", ",2")


def test_the_log_decides_what_came_first_not_the_time() -> None:
    overtaken = [record(1, 9, 1, 8.0), record(0, 5, 1, 2.0)]
    found = answered(EVERY, [recorded(overtaken)], context(window=1.0, slide=1.0, **CYCLE))
    assert [numbers(value)[1] for _, value in sorted(found.items())] == [8.0, 10.0]


def test_a_sensor_that_stops_has_no_further_windows() -> None:
    sent = [(0, 1, 1.0), (0, 2, 1.0), (10_000, 2, 1.0)]
    found = answered(UC2, [log_of(sent)], context())
    assert set(found) == {f"{BEGIN},s_1", f"{BEGIN},s_2", f"{BEGIN + 10_000},s_2"}


def test_the_hour_may_change_within_a_window() -> None:
    before = 1_700_006_399_999 - BEGIN
    sent = [(before, 1, 1.0), (before + 1, 1, 2.0)]
    found = answered(UC3, [log_of(sent)], context(window=20.0, slide=10.0))
    change = BEGIN + before + 1
    assert set(found) == {
        f"{change - 20_000},0,s_1",
        f"{change - 10_000},0,s_1",
        f"{change - 10_000},1,s_1",
        f"{change},1,s_1",
    }


def test_midnight_adds_a_window() -> None:
    day = 86_400_000
    midnight = BEGIN + day - BEGIN % day
    sent = [(midnight - 1 - BEGIN, 1, 1.0), (midnight - BEGIN, 1, 2.0)]
    known = context(window=30 * 86_400.0, slide=86_400.0, zone="UTC")
    found = answered(UC3, [log_of(sent)], known)
    starts = {int(key.split(",")[0]) for key in found}
    assert len(starts) == 31
    assert max(starts) == midnight


def test_records_of_a_sensor_meet_wherever_they_were_read() -> None:
    assert isinstance(UC3, AnswersInGroups)
    keys = pa.chunked_array([["s_1", "1700,s_1", "1700,3,s_1", "1700,3,s_1,12", None]])
    found = UC3.groups(keys)
    assert pa.chunked_array(found).to_pylist() == ["s_1"] * 4 + [None]
    marker = UC3.groups(pa.chunked_array([["1700,3,s_marker_8,1"]]))
    assert pa.chunked_array(marker).to_pylist() == ["s_marker_8"]


@pytest.mark.parametrize(
    ("answers", "line", "key"),
    [
        (UC2, "1700,s_1,2,3.5,1.75,1.0,2.5,0.5625", "1700,s_1"),
        (UC3, "1700,3,s_1,2,3.5,1.75,1.0,2.5,5.6E-1", "1700,3,s_1"),
        (EVERY, "1700,3,s_1,2,3.5,1.75,1.0,2.5,0.5625", "1700,3,s_1,2"),
        (STEPWISE, "1700,3,s_marker_9,2,3.5,1.75,1.0,2.5,0", "1700,3,s_marker_9"),
        (UC2, "1700,s_1,2,3.5,1.75,1.0,2.5", None),
        (UC2, "1700,s_1,2,3.5,1.75,1.0,2.5,NaN", None),
        (UC3, "1700,s_1,2,3.5,1.75,1.0,2.5,0.5625", None),
        (UC3, "", None),
    ],
)
def test_an_output_tells_its_key_or_cannot_be_read(
    answers: Statistics, line: str, key: str | None
) -> None:
    assert answers.outputs(written(line))["key"].to_pylist() == [key]


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (f"{BEGIN},s_7,2,3.5,1.75,1.0,2.5,0.5625", True),
        (f"{BEGIN},s_7,2,3.5,1.75,1.0,2.5,0.5625000000001", True),
        (f"{BEGIN},s_7,2,3.5,1.75,1.0,2.5,0.56251", False),
        (f"{BEGIN},s_7,2,3.5,1.7500000000001,1.0,2.5,0.5625", False),
        (f"{BEGIN},s_7,2,3.75,1.75,1.0,2.5,0.5625", False),
        (f"{BEGIN},s_7,1,3.5,1.75,1.0,2.5,0.5625", False),
    ],
)
def test_all_numbers_but_the_variance_must_be_exact(line: str, right: bool) -> None:
    known = context()
    log = log_of([(0, 7, 1.0), (4_000, 7, 2.5)])
    expected = UC2.merge(UC2.expected(log, known), known)
    assert UC2.agree(expected, UC2.outputs(written(line))).tolist() == [right]


def match_stepwise(sent: list[Sent], lines: list[str], known: AnswerContext) -> Counts:
    assert isinstance(STEPWISE, AnswersInSteps)
    partials = STEPWISE.expected(log_of(sent), known)
    outputs = logged_outputs(STEPWISE, written(*lines))
    steps = STEPWISE.steps(partials, outputs, known)
    return match(STEPWISE.merge(partials, known), outputs, STEPWISE.agree, None, steps).counts


@given(sendings, st.data())
def test_any_prefix_is_right_as_long_as_it_grows(sent: list[Sent], drawn: st.DataObject) -> None:
    prefixes = naive(sent, 4000, 1000)
    lines, told = [], 0
    for key, values in prefixes.items():
        kept = drawn.draw(st.sets(st.sampled_from(range(1, len(values) + 1))))
        steps = sorted({*kept, len(values)})
        told += len(steps) - 1
        lines += [f"{key},{step}," + ",".join(map(repr, values[step - 1][1:])) for step in steps]
    counts = match_stepwise(sent, lines, context(window=4.0, slide=1.0, **CYCLE))
    assert counts == Counts(expected=len(prefixes), correct=len(prefixes), intermediate=told)


def test_a_prefix_of_other_records_is_unexpected() -> None:
    sent = [(0, 1, 1.0), (100, 1, 2.0), (200, 1, 4.0)]
    known = context(window=1.0, slide=1.0, **CYCLE)
    (key,) = naive(sent, 1000, 1000)
    last = f"{key},3,7.0,{7 / 3!r},1.0,4.0,{pvariance([1.0, 2.0, 4.0])!r}"
    others = [f"{key},2,5.0,2.5,1.0,4.0,2.25", f"{key},4,9.0,2.25,1.0,4.0,1.0", "nonsense"]
    assert match_stepwise(sent, [*others, last], known) == Counts(
        expected=1, correct=1, unexpected=3
    )
    assert match_stepwise(sent, others[:1], known) == Counts(expected=1, missing=1, unexpected=1)
    assert match_stepwise([], others, known) == Counts(unexpected=3)
