from pathlib import Path

import pytest

from streamgauge.experiments.search import Ends, Role, Thoroughness, Tried
from streamgauge.experiments.search import Search as Course
from streamgauge.experiments.search_answer import SearchAnswer, Searches, SearchTrial
from streamgauge.measure.sustained import Outcome, decide
from streamgauge.report.search.trials import brackets, carrying, shown_trials
from streamgauge.results.answers import read_answer
from streamgauge.spec.experiment import Interval
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult
from tests.simulated import CAPACITY, KINDS, simulate, write_search

SPEC = RunSpec(
    workload="espbench",
    queries=("q3",),
    engine="reference",
    experiment="sustainable",
    rates=(0.4 * CAPACITY, 1.5 * CAPACITY),
    warmup_s=30.0,
    duration_s=60.0,
    experiment_options={"survey": True},
    origins={"rates": "option"},
)


def made(
    *trials: tuple[Role, float, Outcome | None], interval: Interval = (None, None)
) -> SearchAnswer:
    """Make up a search."""
    told = tuple(
        SearchTrial(trial=number, role=role, rate=rate, outcome=outcome, reason="so it is")
        for number, (role, rate, outcome) in enumerate(trials, 1)
    )
    return SearchAnswer(
        query="q3",
        rate=None,
        interval=interval,
        limit=None,
        confirmations=3,
        conclusion="made up",
        catch_up=None,
        latency=(),
        trials=told,
    )


def course(results: list[TrialResult]) -> list[Interval]:
    """Tell what the search itself knew after each trial."""
    search = Course(Ends(*SPEC.rates), Thoroughness())
    known = []
    for result in results:
        search.add(Tried(result.spec.rate, decide(result).outcome))
        known.append((search.low, search.high))
    return known


@pytest.mark.parametrize("kind", ["steady", "noisy", "pausing", "micro-batches"])
def test_the_bracket_closes_as_it_did_in_the_search(tmp_path: Path, kind: str) -> None:
    folder = write_search(tmp_path, SPEC, simulate(KINDS[kind]))
    answer = read_answer(folder.record())
    assert isinstance(answer, Searches)
    (search,) = answer.searches
    searched = [trial for trial in shown_trials(search) if trial.role != "latency"]
    after = brackets(search)
    assert after[: len(searched)] == course(folder.trials()[: len(searched)])
    assert set(after[len(searched) :]) <= {search.interval}


def test_what_was_tried_once_more_says_nothing_and_what_cannot_be_told_twice_has_failed() -> None:
    search = made(
        ("guess", 1e5, None),
        ("bracket", 100.0, "pass"),
        ("bracket", 400.0, "invalid"),
        ("repeat", 400.0, "inconclusive"),
        ("repeat", 400.0, "inconclusive"),
        ("bisect", 200.0, "fail"),
        interval=(100.0, 200.0),
    )
    assert [trial.was_repeated for trial in shown_trials(search)] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert brackets(search) == [
        (None, None), (100.0, None), (100.0, None), (100.0, None), (100.0, 400.0), (100.0, 200.0),
    ]  # fmt: skip


def test_a_rate_that_failed_a_confirmation_no_longer_holds() -> None:
    search = made(
        ("bracket", 100.0, "pass"),
        ("bracket", 200.0, "fail"),
        ("confirm", 100.0, "fail"),
        ("widen", 50.0, "pass"),
        interval=(50.0, 100.0),
    )
    assert brackets(search) == [(100.0, None), (100.0, 200.0), (None, 100.0), (50.0, 100.0)]


def test_the_end_of_an_unfinished_search_is_what_the_answer_says() -> None:
    search = made(("bracket", 100.0, "pass"), ("bracket", 200.0, "invalid"), interval=(100.0, None))
    assert brackets(search) == [(100.0, None), (100.0, None)]
    assert brackets(made()) == []


def test_the_answer_rests_on_what_was_tried_up_to_the_rate_that_held() -> None:
    search = made(
        ("guess", 10.0, None),
        ("bracket", 100.0, "inconclusive"),
        ("repeat", 100.0, "pass"),
        ("bracket", 200.0, "fail"),
        ("latency", 90.0, "fail"),
        ("latency", 150.0, "fail"),
        interval=(100.0, 200.0),
    )
    assert [trial.number for trial in carrying(search)] == [3, 5]
    assert carrying(made(("bracket", 100.0, "fail"), interval=(None, 100.0))) == []
