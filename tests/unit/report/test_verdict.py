from pathlib import Path

import pytest

from streamgauge.report.verdict import MOST_WARNINGS, badges, sentence, warnings
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, Verdict
from tests.unit.conftest import TrialMaker

NO = Verdict(holds=False, reason="of 120 expected and 119 outputs: 1 missing")
UNTOLD = Verdict(holds=None, reason="a quick trial is too short to tell")


@pytest.fixture
def folder(tmp_path: Path, run_spec: RunSpec) -> RunFolder:
    folder = RunFolder.create(tmp_path, run_spec, [], {})
    folder.write(folder.record().model_copy(update={"status": "done"}))
    return folder


def say(folder: RunFolder, *results: TrialResult, **changes: object) -> str:
    record = folder.record()
    spec = record.spec.model_copy(update=changes)
    return sentence(record.model_copy(update={"spec": spec}), results)


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


def test_a_missed_objective_is_part_of_the_sentence(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    told = say(folder, make_trial(1), make_trial(2), objectives=("latency.p90<1ms",))
    assert told == "q3 at 1k/s and q3 at 1k/s missed an objective."


def test_nothing_finished(folder: RunFolder) -> None:
    assert say(folder) == "No trial has finished: there is nothing to tell yet."
    assert [badge.says for badge in badges(folder.record(), [])] == [
        "no trial", "no trial", "no trial", "none set",
    ]  # fmt: skip


def test_a_badge_is_as_good_as_its_worst_trial(folder: RunFolder, make_trial: TrialMaker) -> None:
    results = [make_trial(1), make_trial(2, correct=NO), make_trial(3, kept_up=UNTOLD)]
    found = {badge.name: (badge.holds, badge.says) for badge in badges(folder.record(), results)}
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
        "The run is interrupted: shown is what has finished.",
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
