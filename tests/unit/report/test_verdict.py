from pathlib import Path

import pytest

from streamgauge.report import verdict
from streamgauge.report.verdict import MOST_WARNINGS, Badge
from streamgauge.report.view import view_of
from streamgauge.results.folder import RunFolder, RunRecord
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, Verdict
from tests.unit.conftest import TrialMaker

NO = Verdict(holds=False, reason="of 120 expected and 119 outputs: 1 missing")
UNTOLD = Verdict(holds=None, reason="a quick trial is too short to judge the pace")


@pytest.fixture
def folder(tmp_path: Path, run_spec: RunSpec) -> RunFolder:
    folder = RunFolder.create(tmp_path, run_spec, [], {})
    folder.write(folder.record().model_copy(update={"status": "done"}))
    return folder


def sentence(folder: RunFolder, record: RunRecord, results: list[TrialResult]) -> str:
    return verdict.sentence(view_of(folder, record, results))


def badges(folder: RunFolder, record: RunRecord, results: list[TrialResult]) -> list[Badge]:
    return view_of(folder, record, results).badges()


def warnings(
    folder: RunFolder, record: RunRecord, results: list[TrialResult], unreadable: list[str]
) -> list[str]:
    return verdict.warnings(view_of(folder, record, results), unreadable)


def say(folder: RunFolder, *results: TrialResult, **changes: object) -> str:
    record = folder.record()
    spec = record.spec.model_copy(update=changes)
    return sentence(folder, record.model_copy(update={"spec": spec}), [*results])


def test_all_is_well(folder: RunFolder, make_trial: TrialMaker) -> None:
    assert say(folder, make_trial(1), make_trial(2)) == (
        "All 2 trials are valid, gave the right answers and kept up."
    )
    assert say(folder, make_trial(1), objectives=("latency.p90<1s",)) == (
        "The trial is valid, gave the right answers, kept up and met every objective."
    )


def test_a_quick_run_is_called_so_before_anything_else(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    told = say(folder, make_trial(1, kept_up=UNTOLD), quick=True)
    assert told == (
        "A quick run, not a measurement. The trial is valid and gave the right answers."
    )


def test_what_is_wrong_is_said_of_the_trials_by_name(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    good, wrong = make_trial(1), make_trial(2, correct=NO)
    slow = [make_trial(number, kept_up=NO) for number in (3, 4, 5)]
    told = say(folder, good, wrong, *slow)
    assert told == "q3 at 1k/s answered wrongly; 3 of 5 trials did not keep up."


def test_an_invalid_trial_says_nothing_else(folder: RunFolder, make_trial: TrialMaker) -> None:
    invalid = make_trial(1, status="invalid", valid=NO, correct=UNTOLD, kept_up=UNTOLD)
    assert say(folder, invalid) == "The trial is invalid."


def test_of_a_trial_that_failed_or_is_invalid_nothing_graver_is_hidden_by_lesser_things(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    failed = make_trial(1, status="failed", valid=NO, correct=UNTOLD, kept_up=UNTOLD)
    invalid = make_trial(2, status="invalid", valid=NO)
    told = say(folder, failed, invalid, make_trial(3), objectives=("latency.p90<1ms",))
    assert told == "q3 at 1k/s failed; q3 at 1k/s is invalid; q3 at 1k/s missed an objective."


def test_a_missed_objective_is_part_of_the_sentence(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    told = say(folder, make_trial(1), make_trial(2), objectives=("latency.p90<1ms",))
    assert told == "q3 at 1k/s and q3 at 1k/s missed an objective."


def test_nothing_finished(folder: RunFolder) -> None:
    assert say(folder) == "No trial has finished yet."
    assert [badge.says for badge in badges(folder, folder.record(), [])] == [
        "no trial", "no trial", "no trial", "none set",
    ]  # fmt: skip


def test_a_badge_is_as_good_as_its_worst_trial(folder: RunFolder, make_trial: TrialMaker) -> None:
    results = [make_trial(1), make_trial(2, correct=NO), make_trial(3, kept_up=UNTOLD)]
    found = {
        badge.name: (badge.holds, badge.says) for badge in badges(folder, folder.record(), results)
    }
    assert found == {
        "valid": (True, "3 of 3"),
        "correct": (False, "2 of 3"),
        "kept up": (None, "2 of 3"),
        "objectives": (None, "none set"),
    }


def test_warnings_name_unfinished_trials_and_reasons(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    record = folder.record().model_copy(update={"status": "interrupted", "warnings": ["W raised"]})
    folder.trial_folder(7).mkdir(parents=True)
    told = warnings(folder, record, [make_trial(1, correct=NO)], ["latency.parquet cannot be read"])
    assert told == [
        "The run is interrupted: only finished trials are shown.",
        "Unfinished and left out: trial 007.",
        f"q3 at 1k/s: {NO.reason}",
        "W raised",
        "latency.parquet cannot be read",
    ]


def test_a_thousand_warnings_are_cut(folder: RunFolder, make_trial: TrialMaker) -> None:
    results = [make_trial(number, correct=NO) for number in range(1, 1001)]
    told = warnings(folder, folder.record(), results, [])
    assert len(told) == MOST_WARNINGS + 1
    assert told[-1].startswith("… and 950 more")


def found(query: str = "q3", **changes: object) -> dict[str, object]:
    """Make up a search: 1k/s holds, 2k/s does not."""
    trials = [
        {"trial": 1, "role": "bracket", "rate": 1000.0, "outcome": "pass", "reason": "it held"},
        {"trial": 2, "role": "bracket", "rate": 2000.0, "outcome": "fail", "reason": "it fell"},
    ]
    search: dict[str, object] = {
        "query": query,
        "rate": 1000.0,
        "interval": [1000.0, 2000.0],
        "limit": "engine",
        "confirmations": 3,
        "conclusion": "1k/s sustained, confirmed 3 of 3; 2k/s is not",
        "catch_up": None,
        "latency": [{"at": "100%", "trial": 1}],
        "trials": trials,
    }
    return search | changes


def searched(folder: RunFolder, *searches: dict[str, object], **changes: object) -> RunRecord:
    record = folder.record()
    spec = record.spec.model_copy(update={"experiment": "sustainable", **changes})
    answer = {"survey": False, "quick": spec.quick, "searches": list(searches)}
    return record.model_copy(update={"spec": spec, "answer": answer})


def test_a_search_is_told_by_its_answer(folder: RunFolder, make_trial: TrialMaker) -> None:
    results = [make_trial(1), make_trial(2, kept_up=NO)]
    assert sentence(folder, searched(folder, found()), results) == (
        "q3: 1k/s sustained, confirmed 3 of 3; 2k/s is not."
    )
    both = sentence(folder, searched(folder, found(), found("q1")), results)
    assert [line[:3] for line in both.splitlines()] == ["q3:", "q1:"]


@pytest.mark.parametrize(
    ("stamp", "words"),
    [("survey", "A survey, a rough answer."), ("quick", "A quick run, not a measurement.")],
)
def test_a_rough_search_is_stamped(
    folder: RunFolder, make_trial: TrialMaker, stamp: str, words: str
) -> None:
    options = {"survey": stamp == "survey"}
    record = searched(folder, found(), quick=stamp == "quick", experiment_options=options)
    assert sentence(folder, record, [make_trial(1)]).startswith(f"{words}\nq3: 1k/s")
    (told,) = warnings(folder, record, [make_trial(1)], [])
    assert told.startswith(stamp.capitalize())


def test_a_search_that_succeeded_looks_like_it(folder: RunFolder, make_trial: TrialMaker) -> None:
    overload = make_trial(2, valid=NO, correct=NO, kept_up=NO)
    record = searched(folder, found())
    assert badges(folder, record, [make_trial(1), overload]) == [
        Badge("q3", True, "found and confirmed"),
        Badge("valid", True, "1 of 1 that count"),
        Badge("correct", True, "1 of 1 that count"),
    ]
    assert warnings(folder, record, [make_trial(1), overload], []) == []


def test_a_doubt_about_the_answer_of_a_search_is_a_warning(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    unsure = make_trial(1, correct=UNTOLD, kept_up=NO)
    record = searched(folder, found())
    assert warnings(folder, record, [unsure, make_trial(2, kept_up=NO)], []) == [
        f"q3 at 1k/s: {UNTOLD.reason}"
    ]
    assert badges(folder, record, [unsure])[2] == Badge("correct", None, "not judged")


@pytest.mark.parametrize(
    ("changes", "holds", "says"),
    [
        ({"limit": "search"}, True, "confirmed as far as was tried"),
        ({"limit": "harness"}, None, "the harness was the limit"),
        ({"rate": None, "limit": "harness"}, None, "the harness was the limit"),
        ({"rate": None}, False, "not settled"),
        ({"rate": None, "interval": [None, 2000.0]}, False, "no rate passes"),
        ({"rate": None, "limit": None}, None, "the search is not over"),
    ],
)
def test_a_badge_tells_how_a_search_ended(
    folder: RunFolder,
    make_trial: TrialMaker,
    changes: dict[str, object],
    holds: bool | None,
    says: str,
) -> None:
    badge, *_ = badges(folder, searched(folder, found(**changes)), [make_trial(1)])
    assert (badge.name, badge.holds, badge.says) == ("q3", holds, says)


def test_a_search_without_a_rate_has_no_trials_that_count(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    none = found(rate=None, interval=[None, 1000.0], latency=[])
    record = searched(folder, none)
    assert [badge.says for badge in badges(folder, record, [make_trial(1, correct=NO)])] == [
        "no rate passes", "no rate held", "no rate held",
    ]  # fmt: skip
    assert warnings(folder, record, [make_trial(1, correct=NO)], []) == []
