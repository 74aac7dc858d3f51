from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import RECORDS
from streamgauge.measure.matching import match
from streamgauge.spec.answers import AnswerContext, Answers
from streamgauge.spec.form import JSON
from streamgauge.workloads.ospbench import Ospbench, data
from streamgauge.workloads.ospbench.data import Lane
from streamgauge.workloads.ospbench.parameters import Parameters

T0 = 1_700_000_000_000
"""A whole second."""
STAGES = Ospbench.queries


@dataclass(frozen=True)
class Record:
    stream: str
    point: str
    lane: int
    lanes: int
    second: int
    """After T0."""
    value: int
    """Multiples of 60, or quarters."""
    delay_ms: int = 1
    """From the intended time to the append."""
    broken: bool = False

    @property
    def intended(self) -> int:
        return T0 + 1000 * self.second + 250

    @property
    def appended(self) -> int:
        return self.intended + self.delay_ms

    def line(self, id_: int) -> bytes:
        lane = Lane(self.point.encode(), self.lane, self.lanes, 51.5, 4.25)
        payload = (
            data.unparsable(self.stream, lane)
            if self.broken
            else data.payload(self.stream, lane, self.value)
        )
        return JSON.value(id_, self.intended, payload % data.written(self.intended))


def both(
    point: str, lane: int, lanes: int, second: int, flow: int, speed: int, **more: Any
) -> list[Record]:
    return [
        Record("flow", point, lane, lanes, second, flow, **more),
        Record("speed", point, lane, lanes, second, speed, **more),
    ]


def table(lines: Sequence[tuple[bytes, int]]) -> pa.Table:
    columns = {
        "partition": np.zeros(len(lines)),
        "offset": np.arange(len(lines)),
        "timestamp": [at for _, at in lines],
        "value": [value for value, _ in lines],
    }
    return pa.table({name: pa.array(c) for name, c in columns.items()}).cast(RECORDS)


def context(**parameters: Any) -> AnswerContext:
    return AnswerContext(Parameters(**parameters).model_dump(mode="json"), 2**62, {})


def answered(
    stage: str, records: Iterable[Record], cuts: int = 1, **parameters: Any
) -> dict[str, dict[str, Any]]:
    """Answer records that are read in so many ranges; return the answers by key."""
    lines = [(each.line(id_), each.appended) for id_, each in enumerate(records)]
    answers: Answers = STAGES[stage].answers
    size = max(1, -(-len(lines) // cuts))
    parts = [
        answers.expected(table(lines[at : at + size]), context(**parameters))
        for at in range(0, max(1, len(lines)), size)
    ]
    found = pa.concat_tables(parts)
    if answers.merges:
        found = answers.merge(found, context(**parameters))
    assert not any(found["optional"].to_pylist())
    rows = {row["key"]: row for row in found.to_pylist()}
    assert len(rows) == len(found)
    return rows


def values(stage: str, records: Iterable[Record], **parameters: Any) -> list[str]:
    found = answered(stage, records, **parameters).values()
    return sorted(row["value"].decode() for row in found)


def test_stage0_answers_every_record_parsable_or_not() -> None:
    records = [
        Record("flow", "0/P01", 1, 1, 0, 15),
        Record("speed", "0/P01", 1, 1, 0, 400, broken=True),
    ]
    assert values("stage0", records) == [f"0,{T0 + 251}", f"1,{T0 + 251}"]


def test_stage1_answers_what_can_be_parsed() -> None:
    records = [
        *both("3/P01", 2, 2, 7, 15, 401),
        Record("flow", "3/P02", 1, 1, 7, 15, broken=True),
    ]
    at = T0 + 7000
    assert values("stage1", records) == [
        f"0,{at + 251},3/P01,lane2,{at},51.50000,4.25000,900,60,100,2",
        f"1,{at + 251},3/P01,lane2,{at},51.50000,4.25000,100.25,,100,2",
    ]


def test_stage2_pairs_both_sides_of_a_lane() -> None:
    late = Record("speed", "3/P01", 2, 2, 7, 401, delay_ms=40)
    alone = Record("flow", "3/P01", 1, 2, 7, 15)
    records = [Record("flow", "3/P01", 2, 2, 7, 15), alone, late]
    at = T0 + 7000
    (row,) = answered("stage2", records).values()
    assert row["value"] == b"%d,3/P01,lane2,900,100.25,2,%d" % (at, at + 290)
    assert (row["intended"], row["appended"]) == (at + 250, at + 290)
    assert row["window_end"] is None


@pytest.mark.parametrize(("stage", "answers"), [("stage3", 2), ("stage5", 1)])
def test_sums_of_a_point_need_all_lanes_where_they_are_to_be_complete(
    stage: str, answers: int
) -> None:
    records = [
        *both("0/P12", 1, 3, 5, 5, 400),
        *both("0/P12", 2, 3, 5, 6, 401, delay_ms=9),
        *both("0/P12", 3, 3, 5, 7, 402),
        *both("0/P12", 1, 3, 6, 5, 400),
        *both("0/P12", 2, 3, 6, 6, 401, broken=True),
        *both("0/P12", 3, 3, 6, 7, 402),
    ]
    found = values(stage, records)
    at = T0 + 5000
    assert found[0] == f"{at},0/P12,3,1080,100.25,{at + 259}"
    assert found[1:] == [f"{at + 1000},0/P12,2,720,100.25,{at + 1251}"][: answers - 1]


@pytest.mark.parametrize(
    ("stage", "window_end"), [("stage3", T0 + 6000), ("stage5", None), ("stage100", T0 + 60_000)]
)
def test_what_waits_for_the_end_of_its_time_says_when_that_is(
    stage: str, window_end: int | None
) -> None:
    records = both("0/P01", 1, 1, 5, 5, 400)
    if stage == "stage100":
        start = T0 // 60_000 * 60_000
        (row,) = answered(stage, records[:1], window="60s", slide="60s").values()
        assert row["window_end"] == start + 60_000
    else:
        (row,) = answered(stage, records).values()
        assert row["window_end"] == window_end


@pytest.mark.parametrize("stage", ["stage4", "stage6"])
def test_changes_are_relative_to_the_seconds_before(stage: str) -> None:
    flows = {3: 15, 4: 10, 5: 12}  # 900, 600 and 720
    records = [r for s, flow in flows.items() for r in both("0/P01", 1, 1, s, flow, 400)]
    at = T0 + 5000
    (value,) = values(stage, records)
    fields = value.split(",")
    assert fields[:4] == [f"{at}", "0/P01", "720", "100.0"]
    assert [float(each) for each in fields[4:8]] == pytest.approx([0.2, -0.2, 0, 0])
    assert fields[8] == f"{at + 251}"


@pytest.mark.parametrize("stage", ["stage4", "stage6"])
def test_a_change_is_as_late_as_the_latest_of_its_three_seconds(stage: str) -> None:
    records = [
        *both("0/P01", 1, 1, 3, 15, 400, delay_ms=9_000),
        *both("0/P01", 1, 1, 4, 15, 400),
        *both("0/P01", 1, 1, 5, 15, 400),
    ]
    (row,) = answered(stage, records).values()
    assert row["appended"] == T0 + 3250 + 9_000
    assert row["intended"] == T0 + 5250


@given(
    present=st.sets(st.tuples(st.sampled_from("AB"), st.integers(0, 12)), max_size=20),
    back=st.sampled_from([(1, 2), (2, 5), (1, 9)]),
)
def test_there_is_a_change_wherever_all_three_seconds_are(
    present: set[tuple[str, int]], back: tuple[int, int]
) -> None:
    records = [r for point, s in sorted(present) for r in both(point, 1, 1, s, 5 + s, 300 + s)]
    short, long = back
    wanted = {
        f"{T0 + 1000 * s},{point}"
        for point, s in present
        if {(point, s - short), (point, s - long)} <= present
    }
    for stage in ("stage4", "stage6"):
        assert set(answered(stage, records, short=short, long=long)) == wanted


readings = st.lists(
    st.tuples(st.sampled_from("ABC"), st.integers(1, 3), st.integers(0, 40), st.integers(5, 40)),
    unique_by=lambda each: each[:3],
    max_size=40,
)


@given(
    readings=readings,
    window=st.sampled_from([(60, 12), (10, 4), (20, 15), (5, 5), (3, 1), (61, 60)]),
    cuts=st.integers(1, 4),
    stage=st.sampled_from(["stage100", "stage101"]),
)
def test_windows_add_up_what_lies_in_them(
    readings: list[tuple[str, int, int, int]], window: tuple[int, int], cuts: int, stage: str
) -> None:
    """Also where their length is no multiple of their slide."""
    size, slide = window
    records = [Record("flow", point, lane, 3, s, value) for point, lane, s, value in readings]
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for each in records:
        second = T0 // 1000 + each.second
        for start in range(second - second % slide, second - size, -slide):
            total = sums[f"{start * 1000},{each.point}"]
            total[0] += 1
            total[1] += 60 * each.value
            total[2] = max(total[2], each.appended)
    found = answered(stage, records, cuts, window=float(size), slide=float(slide))
    assert {key: row["value"].decode() for key, row in found.items()} == {
        key: f"{key},{count},{flow},{publish}" for key, (count, flow, publish) in sums.items()
    }


lanes = st.tuples(st.sampled_from("AB"), st.integers(1, 2), st.integers(0, 6))
states = st.sampled_from(["both", "flow", "speed", "broken flow", "broken speed"])


@given(seen=st.dictionaries(lanes, states, max_size=28), cuts=st.integers(1, 5))
def test_pairs_and_sums_are_those_of_lanes_with_both_sides(
    seen: dict[tuple[str, int, int], str], cuts: int
) -> None:
    """However the records were read, and wherever a stream stops or cannot be parsed."""
    records = []
    for (point, lane, second), state in seen.items():
        for record in both(point, lane, 2, second, 5 + lane + second, 300 + 7 * lane + second):
            if state in ("both", record.stream):
                records.append(record)
            elif state.startswith("broken"):
                broken = state == f"broken {record.stream}"
                records.append(Record(**{**vars(record), "broken": broken}))
    whole = {key for key, state in seen.items() if state == "both"}
    lines = {f"{T0 + 1000 * s},{point},lane{lane}" for point, lane, s in whole}
    assert set(answered("stage2", records, cuts)) == lines
    by_second: dict[str, list[int]] = defaultdict(list)
    for point, lane, s in whole:
        by_second[f"{T0 + 1000 * s},{point}"].append(lane)
    open_ = answered("stage3", records, cuts)
    assert set(open_) == set(by_second)
    for key, row in open_.items():
        _, _, count, flow, *_ = row["value"].decode().split(",")
        s = (int(key.partition(",")[0]) - T0) // 1000
        assert int(count) == len(by_second[key])
        assert int(flow) == sum(60 * (5 + lane + s) for lane in by_second[key])
    complete = {key for key, present in by_second.items() if len(present) == 2}
    assert set(answered("stage5", records, cuts)) == complete


@pytest.mark.parametrize("stage", ["stage2", "stage3", "stage5"])
def test_a_record_that_was_sent_twice_makes_the_trial_invalid(stage: str) -> None:
    records = both("0/P01", 1, 1, 3, 15, 400)
    with pytest.raises(TrialInvalid, match="repeated one"):
        answered(stage, [*records, records[0]])


def test_json_that_we_did_not_send_makes_the_trial_invalid() -> None:
    stranger = [(b'{"id":1,"intended":5,"speed":"fast"}', 7)]
    with pytest.raises(TrialInvalid, match="neither flow nor speed"):
        STAGES["stage1"].answers.expected(table(stranger), context())


@pytest.mark.parametrize("stage", [*STAGES])
def test_sentinels_and_nothing_have_no_answers(stage: str) -> None:
    answers: Answers = STAGES[stage].answers
    lines = [(JSON.value(0, T0, data.sentinel("flow")), T0)] if stage != "stage0" else []
    found = answers.expected(table(lines), context())
    assert len(answers.merge(found, context())) == 0
    assert len(answers.outputs(table([]))) == 0


SECONDS = [r for s in range(4) for lane in (1, 2) for r in both("A", lane, 2, s, 5 + s, 300 + s)]


def judged(stage: str, change: Any) -> tuple[int, int, int, int]:
    """Change the line of one output; count right, wrong, missing and unexpected ones."""
    records = [r for r in SECONDS if r.stream == "flow" or STAGES[stage].streams != ("flow",)]
    rows = [*answered(stage, records).values()]
    lines = [row["value"].decode() for row in rows]
    lines[0] = change(lines[0])
    answers: Answers = STAGES[stage].answers
    outputs = answers.outputs(table([(line.encode(), T0) for line in lines]))
    places = {"partition": pa.array([0] * len(lines)), "offset": pa.array(range(len(lines)))}
    for name, place in places.items():
        outputs = outputs.append_column(name, place)
    expected = pa.Table.from_pylist(rows)
    counts = match(expected, outputs, answers.agree).counts
    others = len(lines) - 1
    return counts.correct - others, counts.wrong, counts.missing, counts.unexpected


def exchanged(line: str, place: int, by: Any) -> str:
    fields = line.split(",")
    fields[place] = by(fields[place])
    return ",".join(fields)


def changed(kind: str, text: str) -> str:
    """Say something else."""
    if kind == "text" or not text:
        return f"{text}5"
    return repr(float(text) + 1) if "." in text else f"9{text}"


@pytest.mark.parametrize("stage", [*STAGES])
def test_each_field_of_an_output_is_looked_at(stage: str) -> None:
    assert judged(stage, lambda line: line) == (1, 0, 0, 0)
    line: Any = STAGES[stage].answers.line  # type: ignore[attr-defined]
    for place, (name, kind) in enumerate(line.fields):
        by = partial(changed, kind)
        found = judged(stage, partial(exchanged, place=place, by=by))
        assert found == ((0, 0, 1, 1) if place < line.keys else (0, 1, 0, 0)), name


@pytest.mark.parametrize("stage", [*STAGES])
def test_a_line_of_another_form_is_no_answer(stage: str) -> None:
    assert judged(stage, lambda line: f"{line},0") == (0, 1, 0, 0)
    assert judged(stage, lambda _: "nonsense") == (0, 0, 1, 1)


@pytest.mark.parametrize("stage", ["stage3", "stage4", "stage5", "stage6"])
def test_numbers_may_be_written_otherwise(stage: str) -> None:
    def longer(line: str) -> str:
        return ",".join(each + "00" if "." in each else each for each in line.split(","))

    assert judged(stage, longer) == (1, 0, 0, 0)


def test_a_change_may_be_off_by_what_another_order_of_adding_makes() -> None:
    def nearly(by: float) -> Any:
        return lambda line: exchanged(line, 4, lambda text: repr(float(text) * (1 + by)))

    assert judged("stage4", nearly(1e-12)) == (1, 0, 0, 0)
    assert judged("stage4", nearly(1e-6)) == (0, 1, 0, 0)


@given(st.lists(st.sampled_from("ABC"), min_size=1))
def test_all_that_is_told_of_a_point_is_looked_at_in_one_place(points: list[str]) -> None:
    for name, more in (("stage2", ",lane1"), ("stage3", ""), ("stage100", "")):
        keys = pa.chunked_array([[f"{T0},{point}{more}" for point in points]])
        answers: Any = STAGES[name].answers
        assert answers.groups(keys).to_pylist() == points
