from __future__ import annotations

import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workloads.theodolite.attributes import Attribute, parse_zone, remark

HOUR = Attribute.parse("hour-of-day")
DAY = Attribute.parse("day-of-week")
MIDNIGHT = 1_700_006_400_000
"""In UTC, of a Wednesday; 1 o'clock in Paris."""


def at(attribute: Attribute, at_ms: int, zone: str = "Europe/Paris") -> int:
    return int(attribute.at(np.array([at_ms], dtype=np.int64), zone)[0])


def test_hours_are_those_of_the_zone() -> None:
    assert (at(HOUR, MIDNIGHT - 1), at(HOUR, MIDNIGHT)) == (0, 1)
    assert (at(HOUR, MIDNIGHT - 1, "UTC"), at(HOUR, MIDNIGHT, "UTC")) == (23, 0)
    assert (at(DAY, MIDNIGHT - 1, "UTC"), at(DAY, MIDNIGHT, "UTC")) == (1, 2)
    assert at(HOUR, MIDNIGHT - 1, "Asia/Kathmandu") == 5


@given(
    st.integers(0, 4_000_000_000_000),
    st.sampled_from(
        ["Europe/Paris", "UTC", "Asia/Kolkata", "Australia/Lord_Howe", "America/Denver"]
    ),
)
def test_hours_and_days_are_those_of_the_calendar(at_ms: int, zone: str) -> None:
    there = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(ZoneInfo(zone))
    assert (at(HOUR, at_ms, zone), at(DAY, at_ms, zone)) == (there.hour, there.weekday())


def test_an_hour_comes_twice_when_summer_ends_and_one_is_left_out_when_it_begins() -> None:
    autumn = int(datetime(2023, 10, 28, 22, tzinfo=UTC).timestamp() * 1000)
    spring = int(datetime(2023, 3, 25, 23, tzinfo=UTC).timestamp() * 1000)
    steps = range(0, 5 * 3_600_000, 3_600_000)
    assert [at(HOUR, autumn + step) for step in steps] == [0, 1, 2, 2, 3]
    assert [at(HOUR, spring + step) for step in steps] == [0, 1, 3, 4, 5]


def test_the_zone_of_this_machine_is_of_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert (at(HOUR, MIDNIGHT - 1), at(HOUR, MIDNIGHT)) == (0, 1)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_cycle_counts_and_begins_again() -> None:
    cycle = Attribute.parse("cycle:3:5s")
    assert [at(cycle, step * 5_000 + 4_999) for step in range(5)] == [0, 1, 2, 0, 1]


@pytest.mark.parametrize(
    "text",
    ["hour", "cycle", "cycle:0:5s", "cycle:12", "cycle:12:soon", "cycle:-1:5s", "cycle:5:0s"],
)
def test_what_is_no_attribute_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"cycle|duration"):
        Attribute.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Paris", "", "../etc/passwd", "America", "Mars/Olympus"),
        *("localtime", "Factory", "posix/Europe/Paris"),
    ],
)
def test_what_is_no_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a time zone"):
        parse_zone(text)


def test_a_change_of_the_hour_or_the_day_is_told() -> None:
    span = (MIDNIGHT - 60_000, MIDNIGHT + 60_000)
    assert "changed 60 s after" in str(remark("hour-of-day", "Europe/Paris", *span))
    assert "day-of-week in UTC" in str(remark("day-of-week", "UTC", *span))
    assert remark("day-of-week", "Europe/Paris", *span) is None
    assert remark("hour-of-day", "Europe/Paris", MIDNIGHT, MIDNIGHT + 60_000) is None
    assert remark("cycle:12:5s", "UTC", *span) is None
