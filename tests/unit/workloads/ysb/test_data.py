from __future__ import annotations

import json
import uuid
from collections import Counter
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workloads.ysb import data
from streamgauge.workloads.ysb.parameters import Parameters

MANY = 30_000


def rendered(count: int = MANY, seed: int = 1, **parameters: Any) -> list[bytes]:
    return list(chain.from_iterable(data.payloads(Parameters(**parameters), seed, count)))


def parsed(payload: bytes) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads(b"{" + payload % 1_700_000_000_000)
    except ValueError:
        return None
    return found


def test_an_event_has_seven_texts() -> None:
    first = parsed(rendered(1)[0])
    assert first is not None
    assert set(map(type, first.values())) == {str}
    assert list(first) == [
        "user_id", "page_id", "ad_id", "ad_type", "event_type", "event_time", "ip_address"
    ]  # fmt: skip
    for name in ("user_id", "page_id", "ad_id"):
        assert uuid.UUID(first[name]).version == 4
        assert str(uuid.UUID(first[name])) == first[name]


def test_events_are_spread_evenly_over_what_there_is() -> None:
    events = [each for payload in rendered() if (each := parsed(payload))]
    counts = {name: Counter(event[name] for event in events) for name in events[0]}
    distinct = {name: len(count) for name, count in counts.items()}
    assert distinct == {
        "user_id": 100, "page_id": 100, "ad_id": 1000, "ad_type": 5, "event_type": 3,
        "event_time": 1, "ip_address": 1,
    }  # fmt: skip
    assert counts["event_type"]["view"] / MANY == pytest.approx(1 / 3, abs=0.01)
    assert max(counts["ad_id"].values()) < 3 * MANY / 1000


def test_all_events_may_be_views_as_in_the_papers_generator() -> None:
    assert {str((parsed(each) or {})["event_type"]) for each in rendered(500, events="views")} == {
        "view"
    }


@given(campaigns=st.integers(1, 300), seed=st.integers(0, 1000))
def test_each_campaign_has_ten_ads_of_its_own(campaigns: int, seed: int) -> None:
    owners = data.campaign_of_each(campaigns, seed)
    assert Counter(owners.values()) == dict.fromkeys(data.campaigns(campaigns, seed), 10)


def test_bad_events_are_those_that_were_asked_for() -> None:
    known = data.campaign_of_each(100, 1)
    events = [parsed(payload) for payload in rendered(bad=0.2)]
    broken = events.count(None) / MANY
    strange = sum(each["ad_id"].encode() not in known for each in events if each) / MANY
    assert (broken, strange) == (pytest.approx(0.1, abs=0.01), pytest.approx(0.1, abs=0.01))
    assert None not in [parsed(payload) for payload in rendered(1000)]


def test_the_same_seed_gives_the_same_bytes_and_another_one_others() -> None:
    assert rendered(500, 3) == rendered(500, 3) != rendered(500, 4)


def test_with_skew_times_are_off_and_a_few_events_are_late() -> None:
    count = 1_000_000
    shifts = data.shifts(Parameters(skew=True), 1, count)
    late = [shift for shift in shifts if shift < -50]
    assert max(shifts) == 49
    assert 1 <= len(late) < 30
    assert min(late) > -60_050
    assert data.shifts(Parameters(), 1, count) == [0]
