from __future__ import annotations

import json
from collections import Counter
from itertools import chain, islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streamgauge.spec.form import JSON
from streamgauge.workloads.ospbench import data
from streamgauge.workloads.ospbench.parameters import Parameters

AT_MS = 1_489_588_860_999
"""2017-03-15 14:41:00.999 UTC."""


def parsed(payload: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(JSON.value(7, AT_MS, payload % data.written(AT_MS)))
    return found


@pytest.mark.parametrize("stream", data.STREAMS)
def test_a_record_has_the_fields_of_the_original(stream: str) -> None:
    (payload, *_), *_ = data.Ring(stream, data.lanes(19, 1), 1, 19).payloads()
    found = parsed(payload)
    assert (found["id"], found["intended"]) == (7, AT_MS)
    assert found["timestamp"] == "2017-03-15 14:41:00"
    assert found["accuracy"] == 100
    if stream == "flow":
        assert found["period"] == 60
        assert found["flow"] % 60 == 0
        assert 300 <= found["flow"] <= 2400
    else:
        assert "period" not in found
        assert (found["speed"] * 4).is_integer()
        assert 73 <= found["speed"] <= 126


@given(st.integers(1, 400), st.integers(0, 5))
def test_a_road_has_twelve_points_with_nineteen_lanes(count: int, seed: int) -> None:
    lanes = data.lanes(count, seed)
    repeats = -(-count // 19)
    assert len(lanes) == 19 * repeats
    names = [(lane.point, lane.number) for lane in lanes]
    assert len(set(names)) == len(names)
    points = Counter(lane.point for lane in lanes)
    assert sorted(points.values()) == sorted(data.LANES * repeats)
    assert all(points[lane.point] == lane.lanes for lane in lanes)


def test_the_lanes_of_a_point_follow_each_other_in_both_streams() -> None:
    rings = (data.Ring(stream, data.lanes(57, 1), 1, 57) for stream in data.STREAMS)
    flow, speed = (
        [parsed(each)["measurementId"] for each in next(ring.payloads())] for ring in rings
    )
    assert flow == speed
    changes = sum(a != b for a, b in pairwise(flow))
    assert changes == len(set(flow)) - 1


def test_values_differ_from_second_to_second_and_repeat_with_no_window() -> None:
    ring = data.Ring("flow", data.lanes(19, 1), 1, 1_000)
    seconds = list(ring.payloads())
    assert len(seconds) == 47  # the greatest prime up to 1000 / 19
    assert len({tuple(second) for second in seconds}) == 47
    assert list(data.Ring("flow", data.lanes(19, 1), 1, 1_000).payloads()) == seconds
    assert list(data.Ring("flow", data.lanes(19, 2), 2, 1_000).payloads()) != seconds


@given(
    counts=st.lists(st.integers(0, 38), min_size=1, max_size=9),
    before=st.integers(0, 4),
    bad=st.tuples(st.integers(0, 60), st.integers(0, 9)),
)
def test_seconds_hold_as_many_records_as_they_are_to(
    counts: list[int], before: int, bad: tuple[int, int]
) -> None:
    lanes = data.lanes(38, 1)
    ring = data.Ring("speed", lanes, 1, 38)
    broken = range(bad[0], bad[0] + bad[1])
    pairs = list(data.second_by_second(ring, counts, before, broken))
    payloads = list(chain.from_iterable(payloads for payloads, _ in pairs))
    keys = list(chain.from_iterable(keys for _, keys in pairs))
    assert len(payloads) == len(keys) == before + sum(counts)
    numbered = iter(zip(payloads[before:], keys[before:], strict=True))
    record = 0
    for count in counts:
        for slot, (payload, key) in enumerate(islice(numbered, count)):
            assert key == lanes[slot].point
            assert (b"speedERROR" in payload) == (record in broken)
            record += 1
    assert all(JSON.fits(payload) for payload in payloads)


def test_what_cannot_be_parsed_is_no_json_and_still_has_its_head() -> None:
    value = JSON.value(7, AT_MS, data.unparsable("flow", data.lanes(1, 1)[0]) % b"2017")
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(value)
    assert JSON.id_of(value) == "7"


def test_a_marker_is_another_point_each_time_and_has_all_seconds_that_it_needs() -> None:
    payloads = data.markers("flow", 12, AT_MS, (5, 1, 0))
    found = [json.loads(JSON.value(1, 2, each)) for each in payloads]
    assert {each["measurementId"] for each in found} == {"marker/12"}
    assert [each["timestamp"][-2:] for each in found] == ["55", "59", "00"]
    assert data.place_of(JSON.value(1, 2, data.markers("flow", 12, AT_MS, (0,))[0])) == (
        AT_MS - 999,
        "marker/12",
    )


def test_a_sentinel_is_later_than_everything() -> None:
    assert data.place_of(JSON.value(1, 2, data.sentinel("speed")))[0] == data.SENTINEL_MS


@pytest.mark.parametrize(("rate", "roads"), [(1.0, 1), (19.0, 1), (1000.0, 53), (10_000.0, 526)])
def test_roads_are_as_many_as_the_rate_needs(rate: float, roads: int) -> None:
    assert data.roads(rate) == roads


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"window": "1s", "slide": "2s"}, "no longer than the window"),
        ({"window": "1500ms", "slide": "500ms"}, "whole seconds"),
        ({"window": "3600s", "slide": "1s"}, "at most 1000 windows"),
        ({"short": 2}, "less than long"),
        ({"bad": "many@10s"}, "must be written like"),
        ({"bad": "1"}, "must be written like"),
        ({"bad": "1@10s/both"}, "must be written like"),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(
    wrong: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValidationError, match=reason):
        Parameters(**wrong)


def test_what_cannot_be_parsed_is_read_from_one_text() -> None:
    assert Parameters(bad="17@10s").unparsable("flow") == (17, 10_000)
    assert Parameters(bad="17@10s/speed").unparsable("speed") == (17, 10_000)
    assert Parameters(bad="17@10s/speed").unparsable("flow") == (0, 10_000)
    assert Parameters().unparsable("flow") == (0, 0)
