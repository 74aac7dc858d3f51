from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import TrialInvalid
from streamgauge.measure.columns import RECORDS
from streamgauge.measure.matching import Match, match
from streamgauge.workloads.ysb import data
from streamgauge.workloads.ysb.answers import Views
from streamgauge.workloads.ysb.store import READ_MS, WINDOWS
from tests.unit.workloads.ysb.events import ADS, BEGIN, FIRST, SECOND, context, event, records

VIEWS = Views()
EARLIER = BEGIN - 10_000


def expected(*tables: pa.Table, **parameters: Any) -> pa.Table:
    parts = [VIEWS.expected(each, context(**parameters)) for each in tables]
    return VIEWS.merge(pa.concat_tables(parts), context(**parameters))


def values(*tables: pa.Table, **parameters: Any) -> dict[str, bytes]:
    found = expected(*tables, **parameters)
    return dict(zip(found["key"].to_pylist(), found["value"].to_pylist(), strict=True))


def judged(answers: pa.Table, *lines: str, at_ms: int = BEGIN + 60_000) -> Match:
    columns = ([0] * len(lines), range(len(lines)), [at_ms] * len(lines), lines)
    arrays = [pa.array(list(c), f.type) for c, f in zip(columns, RECORDS, strict=True)]
    logged = pa.table(arrays, schema=RECORDS)
    outputs = VIEWS.outputs(logged)
    for name in ("partition", "offset"):
        outputs = outputs.append_column(name, logged[name])
    return match(answers, outputs, VIEWS.agree, VIEWS)


def in_redis(*rows: tuple[int, str, str], read_ms: int = BEGIN + 10**9) -> pa.Table:
    columns = zip(*((str(window), counted, value) for window, counted, value in rows), strict=True)
    arrays = [pa.array(column) for column in columns]
    table = pa.table(arrays, WINDOWS.with_metadata({READ_MS: str(read_ms)}))
    return VIEWS.table_outputs({"windows": table})


def test_views_of_known_ads_are_counted_by_campaign_and_window() -> None:
    found = values(
        records(
            event(0, 0),
            event(1, 10, ADS[1]),
            event(2, 20, ADS[10]),
            event(3, 30, kind="click"),
            event(4, 40, b"nobody's"),
            event(5, 9_999),
            event(6, 10_000),
        )
    )
    assert found == {
        f"{BEGIN},{FIRST}": b"3,%d,0,0" % (BEGIN + 9_999),
        f"{BEGIN},{SECOND}": b"1,%d,0,0" % (BEGIN + 20),
        f"{BEGIN + 10_000},{FIRST}": b"1,%d,0,0" % (BEGIN + 10_000),
    }


def test_what_is_no_json_is_counted_nowhere() -> None:
    broken = event(1, 5).replace(b'"user_id":"u"', b'"user_id":u')
    assert values(records(event(0, 0), broken)) == {f"{BEGIN},{FIRST}": b"1,%d,0,0" % BEGIN}


def test_json_that_is_no_event_cannot_be_judged() -> None:
    strange = event(1, 5).replace(b"ip_address", b"ip")
    with pytest.raises(TrialInvalid, match="it is JSON, but not an event"):
        values(records(event(0, 0), strange))


def test_the_sentinel_is_in_no_window() -> None:
    from streamgauge.spec.form import JSON

    last = JSON.value(9, BEGIN + 50, data.sentinel())
    assert values(records(event(0, 0), last)) == {f"{BEGIN},{FIRST}": b"1,%d,0,0" % BEGIN}


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 30_000),
            st.integers(0, 19),
            st.sampled_from(["view", "click"]),
            st.integers(0, 2),
        ),
        max_size=60,
    )
)
def test_ranges_and_partitions_add_up_to_what_anybody_would_count(
    rows: list[tuple[int, int, str, int]],
) -> None:
    rows.sort()
    events = [
        (event(number, at, ADS[ad], kind=kind), place)
        for number, (at, ad, kind, place) in enumerate(rows)
    ]
    parts = [
        records(*(value for value, place in events if place == each), partition=each)
        for each in range(3)
    ]
    counted: Counter[str] = Counter()
    for value, _ in events:
        told = json.loads(value)
        if told["event_type"] == "view":
            at_ms = int(told["event_time"])
            owner = data.campaign_of_each(2, 1)[told["ad_id"].encode()].decode()
            counted[f"{at_ms - at_ms % 10_000},{owner}"] += 1
    assert {k: int(v.split(b",")[0]) for k, v in values(*parts).items()} == dict(counted)


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (f"{BEGIN},{FIRST},2,{BEGIN + 9},4.5", True),
        (f"{BEGIN},{FIRST},2,{BEGIN + 9},", True),
        (f"{BEGIN},{FIRST},3,{BEGIN + 9},", False),
        (f"{BEGIN},{FIRST},2,{BEGIN + 8},", False),
        (f"{BEGIN},{FIRST},0,0,", False),
    ],
)
def test_a_count_is_right_with_the_time_of_its_last_event(line: str, right: bool) -> None:
    found = judged(expected(records(event(0, 0), event(1, 9))), line)
    assert (found.counts.correct, found.counts.wrong) == (int(right), int(not right))


@pytest.mark.parametrize("line", ["", "x", f"{BEGIN},{FIRST}", f"{BEGIN},{FIRST},1,{BEGIN}"])
def test_what_nobody_can_read_is_unexpected(line: str) -> None:
    assert judged(expected(records(event(0, 0))), line).counts.unexpected == 1


def test_a_late_event_may_be_counted_or_not() -> None:
    answers = expected(
        records(event(0, 0), event(1, 30), event(2, 12_000, late=11_000), event(3, 12_000)),
        skew=True,
    )
    lines = {
        "without": (f"{BEGIN},{FIRST},2,{BEGIN + 30},", 1),
        "with": (f"{BEGIN},{FIRST},3,{BEGIN + 1_000},", 1),
        "twice": (f"{BEGIN},{FIRST},4,{BEGIN + 1_000},", 0),
        "not that late": (f"{BEGIN},{FIRST},3,{BEGIN + 1_001},", 0),
    }
    for what, (line, right) in lines.items():
        assert judged(answers, line).counts.correct == right, what
    assert VIEWS.lenient(answers) == 1


def test_a_window_of_late_events_alone_may_be_missing() -> None:
    answers = expected(records(event(0, 9_000, late=10_000), event(1, 9_000)), skew=True)
    nothing = judged(answers, f"{BEGIN},{FIRST},1,{BEGIN + 9_000},")
    assert (nothing.counts.missing, nothing.counts.wrong) == (0, 0)
    there = judged(answers, f"{EARLIER},{FIRST},1,{BEGIN - 1_000},")
    assert there.counts.correct == 1


def test_an_event_within_the_allowed_delay_is_to_be_counted() -> None:
    assert VIEWS.lenient(expected(records(event(0, 60), event(1, 70, late=50)), skew=True)) == 0


def test_parts_of_workers_are_added_up_and_whole_counts_stand_alone() -> None:
    at = BEGIN + 12_000
    found = (
        in_redis(
            (BEGIN, f"{FIRST}/worker-0-7", f"1,{BEGIN + 4},10.0,{at}"),
            (BEGIN, f"{FIRST}/worker-1-7", f"3,{BEGIN + 9},30.0,{at + 5}"),
            (BEGIN, f"{SECOND}/batch-4", f"2,{BEGIN + 1},,{at}"),
        )
        .sort_by("key")
        .to_pylist()
    )
    assert sorted((each["value"], each["emitted"]) for each in found) == sorted(
        [
            (b"%d,%s,4,%d,25.000" % (BEGIN, FIRST.encode(), BEGIN + 9), at + 5),
            (b"%d,%s,2,%d," % (BEGIN, SECOND.encode(), BEGIN + 1), at),
        ]
    )


def test_what_lies_in_redis_and_cannot_be_read_is_unexpected() -> None:
    at = BEGIN + 12_000
    found = in_redis(
        (BEGIN, f"{FIRST}/somebody", f"1,{BEGIN},0.0,{at}"),
        (BEGIN, f"{FIRST}/batch-1", "seven"),
    )
    assert found["key"].to_pylist() == [None, None]


def test_a_time_that_cannot_be_is_wrong() -> None:
    answers = expected(records(event(0, 0)))
    for at_ms, read_ms in ((BEGIN - 3_000, BEGIN + 10**9), (BEGIN + 900, BEGIN + 500)):
        row = (BEGIN, f"{FIRST}/batch-1", f"1,{BEGIN},0.0,{at_ms}")
        outputs = in_redis(row, read_ms=read_ms)
        assert VIEWS.agree(answers, outputs).tolist() == [False]


def closed(*tables: pa.Table) -> dict[str, dict[str, Any]]:
    """Return the answers by key where views of two partitions close windows."""
    known = replace(context(), closed_by=2)
    parts = [VIEWS.expected(each, known) for each in tables]
    rows = VIEWS.merge(pa.concat_tables(parts), known).to_pylist()
    return {row["key"]: row for row in rows}


def test_where_views_close_windows_a_count_waits_for_the_last_partition() -> None:
    found = closed(
        records(event(0, 5), event(2, 10_050), event(4, 10_060)),
        records(event(1, 9_000), event(3, 10_020), partition=1),
    )
    first = found[f"{BEGIN},{FIRST}"]
    assert (first["value"], first["optional"]) == (b"2,%d,0,0" % (BEGIN + 9_000), False)
    assert (first["intended"], first["appended"]) == (BEGIN + 10_050, BEGIN + 10_053)
    last = found[f"{BEGIN + 10_000},{FIRST}"]
    assert (last["value"], last["optional"]) == (None, True), "nothing can have closed it"


def test_a_window_that_one_partition_does_not_close_may_be_missing() -> None:
    found = closed(
        records(event(0, 5), event(2, 10_050)),
        records(event(1, 9_000), event(3, 10_020, ADS[10]), partition=1),
    )
    first = found[f"{BEGIN},{FIRST}"]
    assert (first["value"], first["optional"]) == (b"2,%d,0,0" % (BEGIN + 9_000), True)
