from __future__ import annotations

from statistics import fmean, median, pvariance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure.matching import match
from streamgauge.validation.tasks import logged_outputs
from streamgauge.workloads.theodolite.answers import SlidingStatistics
from tests.unit.workloads.theodolite.records import (
    BEGIN,
    answered,
    context,
    record,
    recorded,
    written,
)

SLIDING = SlidingStatistics("uc3")
CYCLE = {"attribute": "cycle:3:2s"}
Sent = tuple[int, int, float]

sendings = st.lists(
    st.tuples(st.integers(0, 9_000), st.integers(0, 2), st.integers(0, 3999).map(lambda k: k / 4)),
    max_size=30,
)


def attribute(at_ms: int) -> int:
    return (BEGIN + at_ms) // 2000 % 3


def inside(sent: list[Sent], number: int, length_ms: int) -> list[float]:
    at_ms, sensor, _ = sent[number]
    return [
        watts
        for t, s, watts in sent
        if s == sensor and attribute(t) == attribute(at_ms) and at_ms - length_ms <= t <= at_ms
    ]


@given(sendings, st.sampled_from([1.0, 2.5, 8.0]))
def test_each_record_is_answered_by_what_its_sensor_sent_before_it(
    sent: list[Sent], window: float
) -> None:
    log = recorded([record(number, *each) for number, each in enumerate(sent)])
    for aggregate in ("stats", "sum", "median"):
        known = context(window=window, slide=window, aggregate=aggregate, **CYCLE)
        found = answered(SLIDING, [log], known)
        assert len(found) == len(sent)
        for number, (at_ms, sensor, _) in enumerate(sent):
            values = inside(sent, number, round(window * 1000))
            told = {
                "sum": [sum(values)],
                "median": [median(values)],
                "stats": [
                    *(sum(values), fmean(values), min(values), max(values)),
                    pvariance(values),
                ],
            }[aggregate]
            line = found[f"{BEGIN + at_ms},{attribute(at_ms)},s_{sensor},{number}"]
            cells = [float(cell) for cell in line.split(",")]
            assert cells == pytest.approx([len(values), *told], rel=1e-12, abs=1e-9)


def test_outputs_are_told_by_their_record() -> None:
    sent = [(0, 1, 2.0), (1000, 1, 4.0), (1001, 1, 6.0)]
    log = recorded([record(number, *each) for number, each in enumerate(sent)])
    known = context(window=1.0, slide=1.0, aggregate="sum", attribute="cycle:1:1d")
    expected = SLIDING.merge(SLIDING.expected(log, known), known)
    assert expected["window_end"].to_pylist() == [BEGIN + at + 1 for at in (0, 1000, 1001)]
    lines = [
        f"{BEGIN},0,s_1,0,1,2.0",
        f"{BEGIN + 1000},0,s_1,1,2,6.0",
        f"{BEGIN + 1001},0,s_1,2,3,12.0",  # the first one is out by then
        f"{BEGIN + 1001},0,s_1,9,2,10.0",
    ]
    counts = match(expected, logged_outputs(SLIDING, written(*lines)), SLIDING.agree).counts
    assert (counts.correct, counts.wrong, counts.unexpected) == (2, 1, 1)
    sensors = SLIDING.groups(logged_outputs(SLIDING, written(*lines))["key"])
    assert set(sensors.to_pylist()) == {"s_1"}
