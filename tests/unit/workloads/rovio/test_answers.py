"""Both answers against a brute force that looks at every record and every window."""

from __future__ import annotations

import itertools
import pickle
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import EXPECTED, OUTPUTS, RECORDS
from streamgauge.measure.matching import match
from streamgauge.spec.answers import AnswerContext, Answers, AnswersInEventTime, AnswersInGroups
from streamgauge.workloads.rovio import data
from streamgauge.workloads.rovio.answers import Pairs, Sums
from streamgauge.workloads.rovio.answers.aggregation import can_add_up
from streamgauge.workloads.rovio.parameters import Parameters

BEGIN = 1_700_000_000_000
ALL: list[Answers] = [Sums(), Pairs()]


@dataclass(frozen=True)
class Record:
    """One input record; even ids are purchases, odd ones ads."""

    id: int
    intended: int
    delay: int = 0
    user: int = 1
    pack: int = 1
    price: int = 100
    appended_after: int = 5

    @property
    def value(self) -> bytes:
        fields = [self.id, BEGIN + self.intended, self.delay, self.user, self.pack]
        if self.id % 2 == 0:
            fields.append(self.price)
        return ";".join(map(str, fields)).encode()

    @property
    def event(self) -> int:
        return BEGIN + self.intended - self.delay

    @property
    def appended(self) -> int:
        return BEGIN + self.intended + self.appended_after

    def windows(self, parameters: Parameters) -> list[int]:
        size, slide = parameters.size_ms, parameters.slide_ms
        aligned = range((self.event - size) // slide * slide, self.event + slide, slide)
        return [start for start in aligned if start <= self.event < start + size]


def late_among(part: Sequence[Record], parameters: Parameters) -> set[int]:
    """Tell which records of a part come after a time by which they should have been there."""
    allowed = parameters.allowed_delay_ms
    found, reached = set(), [0, 0]
    for record in part:
        stream = record.id % 2
        reached[stream] = max(reached[stream], BEGIN + record.intended)
        if max(reached[stream], record.appended - 50) - record.event > allowed:
            found.add(record.id)
    return found


def table(records: Sequence[Record]) -> pa.Table:
    return raw([record.value for record in records], [record.appended for record in records])


def raw(values: Sequence[bytes | None], appended: Sequence[int] | None = None) -> pa.Table:
    count = len(values)
    return pa.table(
        [
            pa.array([0] * count, pa.int32()),
            pa.array(range(count), pa.int64()),
            pa.array(appended or [BEGIN] * count, pa.int64()),
            pa.array(values, pa.binary()),
        ],
        schema=RECORDS,
    )


def context(parameters: Parameters) -> AnswerContext:
    return AnswerContext(parameters.model_dump(mode="json"), horizon_ms=0, tables={})


def answer(answers: Answers, parts: Sequence[Sequence[Record]], parameters: Parameters) -> pa.Table:
    """Answer parts of the input apart from each other, then bring them together."""
    partials = [answers.expected(table(part), context(parameters)) for part in parts]
    for partial in partials:
        assert partial.schema == EXPECTED
    whole = pa.concat_tables([EXPECTED.empty_table(), *partials])
    return answers.merge(whole, context(parameters)).cast(EXPECTED)


def verdicts(answers: Answers, expected: pa.Table, outputs: Sequence[bytes]) -> dict[str, int]:
    found = answers.outputs(raw(outputs))
    for name in ("partition", "offset"):
        found = found.append_column(name, raw(outputs)[name])
    assert isinstance(answers, AnswersInEventTime)
    counts = match(expected, found, answers.agree, answers).counts.model_dump()
    return {kind: count for kind, count in counts.items() if count and kind != "expected"}


parameters_ = st.builds(
    lambda slide, times, extra, allowed: Parameters(
        window=((slide * times + extra % slide) / 1000, slide / 1000), allowed_delay=allowed / 1000
    ),
    slide=st.integers(1, 40),
    times=st.integers(1, 5),
    extra=st.integers(0, 39),
    allowed=st.integers(0, 30),
)
records_ = st.lists(
    st.builds(
        Record,
        id=st.just(0),
        intended=st.integers(0, 200),
        delay=st.integers(0, 60),
        user=st.integers(1, 2),
        pack=st.integers(1, 3),
        price=st.integers(0, 20),
        appended_after=st.integers(0, 70),
    ),
    max_size=25,
).map(lambda rows: [Record(**{**vars(row), "id": number}) for number, row in enumerate(rows)])
cuts_ = st.integers(0, 25)


# ---- aggregation


def brute_sums(
    records: Sequence[Record], parameters: Parameters, too_late: set[int]
) -> dict[str, tuple[list[Record], list[Record]]]:
    """Tell for each window and pack what came in time, and what too late."""
    found: dict[str, tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for record in records:
        for start in record.windows(parameters):
            found[f"{start},{record.pack}"][record.id in too_late].append(record)
    return found


@given(parameters=parameters_, records=records_, cut=cuts_)
def test_sums_are_those_of_the_brute_force(
    parameters: Parameters, records: list[Record], cut: int
) -> None:
    purchases = [Record(**{**vars(record), "id": 2 * record.id}) for record in records]
    parts = [purchases[:cut], purchases[cut:]]
    rows = answer(Sums(), parts, parameters).to_pylist()
    too_late = set().union(*(late_among(part, parameters) for part in parts))
    wanted = brute_sums(purchases, parameters, too_late)
    assert {row["key"] for row in rows} == set(wanted)
    assert len(rows) == len(wanted)
    for row in rows:
        in_time, late = wanted[row["key"]]
        value, event, prices = row["value"].decode().split("|")
        assert value == f"{row['key']},{sum(r.price for r in in_time)}"
        assert sorted(map(int, filter(None, prices.split(",")))) == sorted(r.price for r in late)
        counted = in_time or late
        assert int(event) == max(r.event for r in counted)
        assert row["intended"] == BEGIN + max(r.intended for r in counted)
        assert row["appended"] == max(r.appended for r in counted)
        assert row["window_end"] == int(row["key"].split(",")[0]) + parameters.size_ms
        assert row["optional"] == (not in_time)
    lenient = sum(bool(late) for _, late in wanted.values())
    assert Sums().lenient(answer(Sums(), parts, parameters)) == lenient


@given(prices=st.lists(st.integers(0, 30), max_size=8), total=st.integers(-5, 250))
def test_late_prices_add_up_in_any_selection(prices: list[int], total: int) -> None:
    selections = itertools.chain.from_iterable(
        itertools.combinations(prices, count) for count in range(len(prices) + 1)
    )
    assert can_add_up(total, prices) == any(sum(some) == total for some in selections)


def test_very_many_late_prices_are_told_at_once() -> None:
    prices = np.random.default_rng(1).integers(99, 9_999, size=50_000).tolist()
    for some in (prices[::2], prices[:100], prices[1:], prices[30_000:], [], prices):
        assert can_add_up(sum(some), prices)
    assert not can_add_up(5, prices)
    assert not can_add_up(sum(prices) - 5, prices)
    even = [2 * price for price in prices[:500]]
    assert can_add_up(sum(even[::3]), even)
    assert not can_add_up(sum(even[::3]) + 1, even)


IN_TIME = Record(0, 1000, price=100)
LATE = [Record(2, 1500, delay=600, price=30), Record(4, 1500, delay=700, price=7)]
WINDOW = Parameters(window="2s,2s", allowed_delay="500ms")


@pytest.mark.parametrize(
    ("total", "found"),
    [
        (100, {"correct": 1}),
        (130, {"correct": 1}),
        (107, {"correct": 1}),
        (137, {"correct": 1}),
        (101, {"wrong": 1}),
        (30, {"wrong": 1}),
        (-1, {"wrong": 1}),
    ],
)
def test_late_records_may_be_in_or_out_of_a_sum(total: int, found: dict[str, int]) -> None:
    expected = answer(Sums(), [[IN_TIME, *LATE]], WINDOW)
    output = b"%d,1,%d" % (BEGIN, total)
    assert verdicts(Sums(), expected, [output]) == found


def test_a_sum_of_late_records_alone_may_be_missing_but_not_wrong() -> None:
    expected = answer(Sums(), [LATE], WINDOW)
    assert verdicts(Sums(), expected, []) == {}
    assert verdicts(Sums(), expected, [b"%d,1,37" % BEGIN]) == {"correct": 1}
    assert verdicts(Sums(), expected, [b"%d,1,36" % BEGIN]) == {"wrong": 1}


def test_a_sum_that_should_be_there_is_missed() -> None:
    expected = answer(Sums(), [[IN_TIME, *LATE]], WINDOW)
    assert verdicts(Sums(), expected, []) == {"missing": 1}
    assert verdicts(Sums(), expected, [b"%d,1,100" % (BEGIN + 2000)]) == {
        "missing": 1,
        "unexpected": 1,
    }


# ---- join


def brute_pairs(
    records: Sequence[Record], parameters: Parameters
) -> dict[str, tuple[Record, Record]]:
    purchases = [record for record in records if record.id % 2 == 0]
    ads = [record for record in records if record.id % 2 == 1]
    return {
        f"{p.user},{p.pack},{start},{p.id},{a.id}": (p, a)
        for p, a in itertools.product(purchases, ads)
        if (p.user, p.pack) == (a.user, a.pack)
        for start in set(p.windows(parameters)) & set(a.windows(parameters))
    }


@given(parameters=parameters_, records=records_, cut=cuts_)
def test_pairs_are_those_of_the_brute_force(
    parameters: Parameters, records: list[Record], cut: int
) -> None:
    parts = [records[:cut], records[cut:]]
    rows = answer(Pairs(), parts, parameters).to_pylist()
    too_late = set().union(*(late_among(part, parameters) for part in parts))
    wanted = brute_pairs(records, parameters)
    assert {row["key"] for row in rows} == set(wanted)
    assert len(rows) == len(wanted)
    for row in rows:
        p, a = wanted[row["key"]]
        start = int(row["key"].split(",")[2])
        inside = [r.event for r in records if start in r.windows(parameters)]
        output = f"{start},{p.id},{a.id},{p.user},{p.pack},{p.price}"
        assert row["value"].decode() == f"{output}|{max(inside)}"
        assert row["intended"] == BEGIN + max(p.intended, a.intended)
        assert row["appended"] == max(p.appended, a.appended)
        assert row["window_end"] == start + parameters.size_ms
        assert row["optional"] == bool({p.id, a.id} & too_late)


@given(parameters=parameters_, records=records_)
def test_right_pairs_are_recognized_by_any_group_apart(
    parameters: Parameters, records: list[Record]
) -> None:
    """Rows of a group, and those for all groups, are all that its answers need."""
    answers = Pairs()
    partials = answers.expected(table(records), context(parameters))
    groups = answers.groups(partials["key"])
    whole = answers.merge(partials, context(parameters))
    parts = [
        answers.merge(
            partials.filter(
                pc.or_(pc.is_null(groups), pc.fill_null(pc.equal(groups, group), False))
            ),
            context(parameters),
        )
        for group in pc.unique(pc.drop_null(groups))
    ]
    together = pa.concat_tables([EXPECTED.empty_table(), *parts])
    assert together.sort_by("key") == whole.sort_by("key")
    assert set(answers.groups(whole["key"]).to_pylist()) <= set(groups.to_pylist())


def test_many_users_are_in_many_groups_and_outputs_in_those_of_their_records() -> None:
    records = [Record(2 * n, 1000, user=n, pack=n % 7) for n in range(1000)]
    names = Pairs().groups(Pairs().expected(table(records), context(WINDOW))["key"])
    assert len(set(names.drop_null().to_pylist())) > 900
    keys = pa.chunked_array([[f"{r.user},{r.pack},{BEGIN},0,1" for r in records], [None, "what"]])
    of_outputs = Pairs().groups(keys).to_pylist()
    assert set(of_outputs[:-2]) == set(names.drop_null().to_pylist())
    assert of_outputs[-2:] == [None, None]


def test_every_mistake_in_a_pair_is_found() -> None:
    purchase, ad = Record(0, 1000, price=55, user=7, pack=9), Record(1, 1800, user=7, pack=9)
    expected = answer(Pairs(), [[purchase], [ad]], WINDOW)
    right = b"%d,0,1,7,9,55" % BEGIN
    assert verdicts(Pairs(), expected, [right]) == {"correct": 1}
    assert verdicts(Pairs(), expected, [right, right]) == {"correct": 1, "duplicate": 1}
    assert verdicts(Pairs(), expected, []) == {"missing": 1}
    assert verdicts(Pairs(), expected, [right[:-1] + b"6"]) == {"wrong": 1}
    assert verdicts(Pairs(), expected, [right + b",5"]) == {"correct": 1}
    for other in (b"%d,2,1,7,9,55", b"%d,0,3,7,9,55", b"%d,0,1,8,9,55", b"%d,0,1,7,8,55"):
        bad = verdicts(Pairs(), expected, [other % BEGIN])
        assert bad == {"missing": 1, "unexpected": 1}


def test_a_pair_with_a_late_record_may_be_there_or_not() -> None:
    expected = answer(Pairs(), [[Record(0, 1000), Record(1, 1900, delay=501)]], WINDOW)
    assert Pairs().lenient(expected) == 1
    assert verdicts(Pairs(), expected, []) == {}
    assert verdicts(Pairs(), expected, [b"%d,0,1,1,1,100" % BEGIN]) == {"correct": 1}
    assert verdicts(Pairs(), expected, [b"%d,0,1,1,1,101" % BEGIN]) == {"wrong": 1}


# ---- both


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
def test_sentinels_are_in_no_answer(answers: Answers) -> None:
    sentinels = [
        b"%d;%d;%s" % (number, BEGIN, data.sentinel(stream))
        for number, stream in enumerate(("purchases", "ads"))
    ]
    partials = answers.expected(raw(sentinels), context(WINDOW))
    assert len(answers.merge(partials, context(WINDOW))) == 0


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
def test_event_time_is_that_of_the_latest_event_and_ingestion_what_the_engine_says(
    answers: Answers,
) -> None:
    records = [Record(0, 1000), Record(1, 1100), Record(3, 1700, user=5), Record(2, 1600, user=6)]
    if isinstance(answers, Sums):
        records = [record for record in records if record.id % 2 == 0]
    expected = answer(answers, [records], WINDOW)
    value = expected["value"][0].as_py().partition(b"|")[0]
    assert isinstance(answers, AnswersInEventTime)
    latest = 1600 if isinstance(answers, Sums) else 1700
    assert answers.event_times(expected).to_pylist() == [BEGIN + latest]
    outputs = answers.outputs(raw([value, value + b",1234", value + b",x", b"", None]))
    assert answers.ingestion_times(outputs).to_pylist() == [None, 1234, None, None, None]
    assert outputs["key"].to_pylist() == [expected["key"][0].as_py()] * 2 + [None] * 3


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
def test_nothing_comes_from_nothing(answers: Answers) -> None:
    empty = answers.expected(table([]), context(WINDOW))
    assert empty.schema == EXPECTED
    assert len(answers.merge(empty, context(WINDOW))) == 0
    assert verdicts(answers, answer(answers, [], WINDOW), []) == {}


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
@given(values=st.lists(st.none() | st.binary(max_size=40), max_size=5))
def test_no_output_is_too_bad_to_be_looked_at(answers: Answers, values: list[bytes | None]) -> None:
    outputs = answers.outputs(raw(values))
    assert outputs.schema == OUTPUTS
    assert len(outputs) == len(values)


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize(
    "value",
    [b"", b"1;2;3", b"1;2;x;4;5;6", b"1;2;0;4;5;6;7", b"1;99999999999999999999;0;4;5", None],
)
def test_an_input_that_we_did_not_send_spoils_the_trial(
    answers: Answers, value: bytes | None
) -> None:
    with pytest.raises(TrialInvalid):
        answers.expected(raw([value]), context(WINDOW))


@pytest.mark.parametrize("answers", ALL, ids=lambda a: type(a).__name__)
def test_answers_are_sent_to_other_processes(answers: Answers) -> None:
    assert pickle.loads(pickle.dumps(answers)) == answers


def test_only_pairs_are_answered_in_groups() -> None:
    assert isinstance(Pairs(), AnswersInGroups)
    assert not isinstance(Sums(), AnswersInGroups)
