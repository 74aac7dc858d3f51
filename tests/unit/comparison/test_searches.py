from __future__ import annotations

import pytest
from tests.unit.runs import MACHINE, make_trial

from streamgauge.comparison.comparability import Side
from streamgauge.comparison.compare import compare
from streamgauge.comparison.searches import Sustained, judge
from streamgauge.experiments.search import Limit
from streamgauge.experiments.search_answer import SearchAnswer, Searches
from streamgauge.experiments.sustainable import Sustainable
from streamgauge.spec.experiment import FoundByBoth, Interval
from streamgauge.spec.run import RunSpec


def searched(name: str, rate: float | None, **changes: object) -> Side:
    asked: dict[str, object] = {
        "workload": "rovio",
        "queries": ("join",),
        "experiment": "sustainable",
        **changes,
    }
    trials = tuple(make_trial(n, query="join", rate=r) for n, r in enumerate((1e5, rate or 1), 1))
    spec = RunSpec(**asked)  # type: ignore[arg-type]  # fields by name
    return Side(name, spec, MACHINE, "1", "done", trials)


def found(base: Interval, other: Interval, **changes: object) -> Sustained:
    sides = searched("a", base[0]), searched("b", other[0], **changes)
    return judge(FoundByBoth("join", base, other), *sides)


def answer(rate: float, high: float, limit: Limit = "engine", query: str = "join") -> Searches:
    search = SearchAnswer(
        query=query,
        rate=rate,
        interval=(rate, high),
        limit=limit,
        confirmations=3,
        conclusion="made up",
        catch_up=None,
        latency=(),
        trials=(),
    )
    return Searches(survey=False, quick=False, searches=(search,))


@pytest.mark.parametrize(
    ("base", "other", "word"),
    [
        ((100.0, 105.0), (105.0, 110.0), "higher"),
        ((105.0, 110.0), (100.0, 105.0), "lower"),
        ((100.0, 105.0), (104.0, 109.0), "no difference"),
        ((100.0, None), (200.0, 210.0), "not known"),
        ((100.0, 105.0), (200.0, None), "higher"),
        ((None, 105.0), (100.0, 105.0), "not known"),
    ],
)
def test_intervals_that_do_not_meet_tell_the_rates_apart(
    base: Interval, other: Interval, word: str
) -> None:
    assert found(base, other).word == word


def test_the_ratio_is_that_of_the_rates_that_held() -> None:
    each = found((100_000.0, 105_000.0), (250_000.0, None), transport="flight")
    assert each.ratio == 2.5
    assert each.says == (
        "rate that join sustains: 250k/s, the base 100k/s (not 105k/s); higher, 2.5 times as much"
    )


def test_where_the_driver_was_the_limit_the_engine_may_sustain_more() -> None:
    base, other = answer(100.0, 120.0, "harness"), answer(150.0, 160.0)
    (both,) = Sustainable.compare(base, other)
    each = found(both.base, both.other)
    assert (each.word, each.ratio) == ("not known", None)
    assert each.says == "rate that join sustains: 150/s (not 160/s), the base 100/s; not known"
    (both,) = Sustainable.compare(other, base)
    assert found(both.base, both.other).word == "not known"


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"partitions": 2}, "the number of partitions differs"),
        ({"duration_s": 60.0}, "the measured time differs"),
        ({"parameters": {"keys": "single"}}, "the parameter keys differs"),
        ({"quick": True}, "was a quick run"),
    ],
)
def test_unlike_searches_are_not_comparable(changes: dict[str, object], part: str) -> None:
    each = found((100.0, 105.0), (200.0, 210.0), **changes)
    assert (each.word, each.ratio) == ("not comparable", None)
    assert part in each.says


def test_of_two_searches_the_trials_at_the_same_rate_are_compared() -> None:
    both = FoundByBoth("join", (2e5, 3e5), (4e5, 5e5))
    comparison = compare(searched("a", 2e5), searched("b", 4e5), [both])
    assert [pair.rate for pair in comparison.pairs] == [1e5]
    assert [each.word for each in comparison.sustained] == ["higher"]


def test_what_only_one_side_has_searched_is_not_compared() -> None:
    assert Sustainable.compare(answer(1e5, 2e5), answer(1e5, 2e5, query="aggregation")) == []
