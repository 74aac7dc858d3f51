from __future__ import annotations

import pytest

from streamgauge.measure.comparability import Side
from streamgauge.measure.comparison import compare
from streamgauge.measure.searched import Interval, Sustained, compare_searches
from streamgauge.spec.run import RunSpec
from tests.unit.runs import MACHINE, make_trial


def searched(
    name: str, rate: float | None, high: float | None, limit: str = "engine", **changes: object
) -> Side:
    asked: dict[str, object] = {
        "workload": "rovio",
        "queries": ("join",),
        "experiment": "sustainable",
        **changes,
    }
    search = {"query": "join", "rate": rate, "interval": [rate, high], "limit": limit}
    trials = tuple(make_trial(n, query="join", rate=r) for n, r in enumerate((1e5, rate or 1), 1))
    spec = RunSpec(**asked)  # type: ignore[arg-type]  # fields by name
    return Side(name, spec, MACHINE, "1", "done", trials, {"searches": [search]})


def found(base: Interval, other: Interval, **changes: object) -> Sustained:
    (each,) = compare_searches(searched("a", *base), searched("b", *other, **changes))
    return each


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
    base, other = searched("a", 100.0, 120.0, "driver"), searched("b", 150.0, 160.0)
    (each,) = compare_searches(base, other)
    assert (each.word, each.ratio) == ("not known", None)
    assert each.says == "rate that join sustains: 150/s (not 160/s), the base 100/s; not known"
    (each,) = compare_searches(other, base)
    assert each.word == "not known"


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"partitions": 2}, "the number of partitions differs"),
        ({"duration_s": 60.0}, "the measured time differs"),
        ({"parameters": {"keys": "single"}}, "the parameter keys differs"),
        ({"quick": True}, "was quick"),
    ],
)
def test_unlike_searches_are_not_comparable(changes: dict[str, object], part: str) -> None:
    each = found((100.0, 105.0), (200.0, 210.0), **changes)
    assert (each.word, each.ratio) == ("not comparable", None)
    assert part in each.says


def test_of_two_searches_the_trials_at_the_same_rate_are_compared() -> None:
    comparison = compare(searched("a", 2e5, 3e5), searched("b", 4e5, 5e5))
    assert [pair.rate for pair in comparison.pairs] == [1e5]
    assert [each.word for each in comparison.sustained] == ["higher"]


def test_what_only_one_side_has_searched_is_not_compared() -> None:
    other = Side("b", RunSpec(workload="rovio", queries=("join",)), MACHINE, "1", "done", ())
    assert list(compare_searches(searched("a", 1e5, 2e5), other)) == []
