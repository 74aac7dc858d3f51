"""The search against engines of every kind; each is told by what a trial at a rate would say."""

import itertools
import math
from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.experiments.search import (
    MOST_TRIALS,
    Ends,
    Found,
    Search,
    Step,
    Thoroughness,
    Tried,
)
from streamgauge.measure.sustained import Outcome

Says = Callable[[Step], Outcome]
THOROUGH = Thoroughness()
rates = st.floats(100.0, 1e6)


def replay(ends: Ends, thoroughness: Thoroughness, trials: Sequence[Tried]) -> Search:
    """Return the search after these trials."""
    search = Search(ends, thoroughness)
    for tried in trials:
        search.add(tried)
    return search


def limited(limit: float, driver: float = math.inf) -> Says:
    def says(step: Step) -> Outcome:
        if step.rate > driver:
            return "invalid"
        return "pass" if step.rate <= limit else "fail"

    return says


def search(ends: Ends, says: Says) -> tuple[list[Tried], Found]:
    """Run a search to its end; each step is asked of a search that is replayed from the start."""
    trials: list[Tried] = []
    while (step := replay(ends, THOROUGH, trials).next()) is not None:
        trials.append(Tried(step.rate, says(step)))
        assert len(trials) <= MOST_TRIALS
    found = replay(ends, THOROUGH, trials).found()
    assert found is not None
    return trials, found


@given(rates, st.floats(0.55, 1.05))
def test_a_limit_in_the_bracket_is_found_in_few_trials(guess: float, share: float) -> None:
    limit = share * guess
    trials, found = search(Ends.around(guess), limited(limit))
    assert found.rate is not None
    assert limit / 1.06 <= found.rate <= limit
    low, high = found.interval
    assert low == found.rate
    assert high is not None
    assert limit <= high <= 1.05 * low
    assert found.limit == "engine"
    assert len(trials) + 1 <= 12, "with the guess"


@given(rates, st.floats(0.001, 900.0))
def test_a_limit_outside_the_bracket_is_found_by_widening(guess: float, share: float) -> None:
    limit = share * guess
    trials, found = search(Ends.around(guess), limited(limit))
    assert found.rate is not None
    assert limit / 1.06 <= found.rate <= limit
    assert len(trials) <= 18


@given(rates)
def test_an_engine_that_never_passes_is_given_up(guess: float) -> None:
    trials, found = search(Ends.around(guess), lambda _: "fail")
    assert found == Found(None, (None, trials[-1].rate), "engine")
    assert len(trials) == 5


@given(rates)
def test_an_engine_that_always_passes_ends_at_the_highest_rate(guess: float) -> None:
    trials, found = search(Ends.around(guess), lambda _: "pass")
    assert found.limit == "search"
    assert found.rate == max(tried.rate for tried in trials)
    assert found.interval == (found.rate, None)


@given(rates, st.floats(0.001, 900.0))
def test_the_driver_as_the_limit_is_told_as_such(guess: float, share: float) -> None:
    _, found = search(Ends.around(guess), limited(math.inf, driver=share * guess))
    assert found.limit == "harness"
    assert found.rate is not None
    assert share * guess / 1.06 <= found.rate <= share * guess


@given(rates)
def test_a_driver_that_can_do_nothing_says_nothing_about_the_engine(guess: float) -> None:
    _, found = search(Ends.around(guess), lambda _: "invalid")
    assert (found.rate, found.limit) == (None, "harness")


@given(st.floats(100, 1e5), st.floats(1.2, 100), st.floats(0, 1))
def test_limits_are_kept(low: float, ratio: float, share: float) -> None:
    high = low * ratio
    limit = low * ratio**share
    trials, found = search(Ends(low, high), limited(limit))
    assert all(low <= tried.rate <= high for tried in trials)
    assert found.rate is not None
    assert found.rate <= limit


def test_below_the_lower_limit_nothing_is_tried() -> None:
    trials, found = search(Ends(1000, 2000), limited(900))
    assert found == Found(None, (None, 1000), "engine")
    assert len(trials) == 1


def test_a_rate_that_holds_at_the_upper_limit_is_confirmed_there() -> None:
    trials, found = search(Ends(1000, 2000), limited(3000))
    assert found == Found(2000, (2000, None), "search")
    assert [tried.rate for tried in trials] == [1000, 2000, 2000, 2000, 2000]


@given(rates, st.floats(0.4, 1.3), st.floats(0.001, 0.1), st.integers(0, 10_000))
@settings(max_examples=200)
def test_a_noisy_engine_is_never_overrated_by_much(
    guess: float, share: float, noise: float, seed: int
) -> None:
    """Near its limit the engine passes by chance; what is confirmed passed each time."""
    limit = share * guess
    random = Random(seed)

    def says(step: Step) -> Outcome:
        return "pass" if step.rate <= limit * (1 + random.uniform(-noise, noise)) else "fail"

    trials, found = search(Ends.around(guess), says)
    if found.rate is None:
        return
    at_it = [tried.outcome for tried in trials if tried.rate == found.rate]
    assert at_it == ["pass"] * 4
    assert found.rate <= limit * (1 + noise)


@given(rates, st.lists(st.sampled_from(["pass", "fail", "invalid", "inconclusive"]), max_size=60))
@settings(max_examples=300)
def test_whatever_happens_the_search_ends_and_its_answer_was_confirmed(
    guess: float, outcomes: list[Outcome]
) -> None:
    left = list(outcomes)
    trials, found = search(Ends.around(guess), lambda _: left.pop() if left else "fail")
    if found.rate is not None:
        told = [tried.outcome for tried in trials if tried.rate == found.rate]
        assert told.count("pass") == 4
        assert "fail" not in told
        assert ("invalid", "invalid") not in itertools.pairwise(told)


@given(st.floats(2e3, 1e6), st.floats(0.3, 3))
def test_a_workload_that_rounds_rates_is_searched_as_well(guess: float, share: float) -> None:
    trials: list[Tried] = []
    ends = Ends.around(guess)
    while (step := replay(ends, THOROUGH, trials).next()) is not None:
        rate = 19.0 * round(step.rate / 19)
        trials.append(Tried(rate, "pass" if rate <= share * guess else "fail"))
    found = replay(ends, THOROUGH, trials).found()
    assert found is not None
    assert found.rate is not None
    assert share * guess / 1.07 <= found.rate <= share * guess
    assert len(trials) <= 14


def test_an_engine_that_dies_at_some_rates_only_is_rated_below_them() -> None:
    def says(step: Step) -> Outcome:
        return "fail" if 600 <= step.rate <= 700 or step.rate > 1000 else "pass"

    _, found = search(Ends.around(1000), says)
    assert found.rate is not None
    assert found.rate <= 1000

    def dies_at_the_lower_end(step: Step) -> Outcome:
        return "fail" if 490 <= step.rate <= 510 else "pass"

    _, found = search(Ends.around(1000), dies_at_the_lower_end)
    assert found.rate is not None
    assert 460 <= found.rate <= 490


def test_what_cannot_be_told_is_tried_once_more_for_longer_and_has_failed_then() -> None:
    ends = Ends(1000, 2000)
    one = [Tried(1000, "inconclusive")]
    assert replay(ends, THOROUGH, one).next() == Step(1000, "repeat", times=2)
    passed = replay(ends, THOROUGH, [*one, Tried(1000, "pass")])
    assert passed.next() == Step(2000, "bracket")
    failed = replay(ends, THOROUGH, [*one, Tried(1000, "inconclusive")])
    assert failed.next() is None
    assert failed.found() == Found(None, (None, 1000), "engine")


def test_an_invalid_trial_is_repeated_once() -> None:
    ends = Ends(1000, 2000)
    broken = Tried(1000, "invalid")
    assert replay(ends, THOROUGH, [broken]).next() == Step(1000, "repeat")
    again = replay(ends, THOROUGH, [broken, Tried(1000, "pass")])
    assert again.next() == Step(2000, "bracket")
    twice = replay(ends, THOROUGH, [broken, broken])
    assert twice.found() == Found(None, (None, 1000), "harness")


def test_an_invalid_trial_is_repeated_for_as_long_as_it_was() -> None:
    tried = [Tried(1000, "inconclusive"), Tried(1000, "invalid")]
    search = replay(Ends(1000, 2000), THOROUGH, tried)
    assert search.next() == Step(1000, "repeat", times=2)
    search.add(Tried(1000, "inconclusive"))
    assert search.found() == Found(None, (None, 1000), "engine")


def test_one_late_driver_does_not_undo_what_held() -> None:
    trials = [Tried(1000, "pass"), Tried(1040, "fail"), *[Tried(1000, "pass")] * 2]
    search = replay(Ends(1000, 1040), THOROUGH, [*trials, Tried(1000, "invalid")])
    assert search.next() == Step(1000, "repeat")
    search.add(Tried(1000, "pass"))
    assert search.found() == Found(1000, (1000, 1040), "engine")


def test_a_failed_confirmation_becomes_the_upper_bound() -> None:
    trials = [Tried(rate, "pass") for rate in (1000, 1500)]
    trials += [Tried(2000, "fail"), Tried(1730, "fail"), Tried(1610, "fail"), Tried(1550, "fail")]
    before = replay(Ends(1000, 2000), THOROUGH, trials)
    assert before.next() == Step(1500, "confirm")
    after = replay(Ends(1000, 2000), THOROUGH, [*trials, Tried(1500, "fail")])
    assert (after.low, after.high) == (1000, 1500)
    assert after.next() == Step(1220, "bisect")


@pytest.mark.parametrize(("ends", "count"), [(Ends(50, 110), 5), (Ends(100, 104), 0)])
def test_the_bisections_are_counted_beforehand(ends: Ends, count: int) -> None:
    assert THOROUGH.bisections(ends) == count
