import json
import os
import re
from pathlib import Path

import psutil
import pytest

from streamgauge.errors import NotReady, UsageError
from streamgauge.results.folder import RunFolder, all_runs, find
from streamgauge.spec.run import RunSpec
from tests.unit.conftest import TrialMaker


@pytest.fixture
def folder(tmp_path: Path, run_spec: RunSpec) -> RunFolder:
    return RunFolder.create(tmp_path / "runs", run_spec, ["streamgauge", "run"], {"cores": 2})


def test_a_new_run_is_running_and_holds_its_spec(folder: RunFolder, run_spec: RunSpec) -> None:
    record = folder.record()
    assert record.status == "running"
    assert record.spec == run_spec
    assert "espbench-reference" in folder.name


def test_a_run_whose_process_is_gone_reads_as_interrupted(folder: RunFolder) -> None:
    file = folder.path / "run.json"
    content = json.loads(file.read_text())
    content["owner"]["started"] -= 1000  # the number now belongs to another process
    file.write_text(json.dumps(content))
    assert folder.record().status == "interrupted"


def test_finished_trials_are_read_and_unfinished_ones_are_not(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    folder.trial_folder(1).mkdir()
    folder.write_trial(make_trial(1))
    folder.trial_folder(2).mkdir()
    (folder.trial_folder(2) / "progress.jsonl").write_text("{}")
    assert [trial.spec.number for trial in folder.trials()] == [1]


def test_trials_come_in_the_order_of_their_numbers(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    for number in (1000, 2, 999, 10_000):
        folder.trial_folder(number).mkdir()
        folder.write_trial(make_trial(number))
    (folder.path / "trials" / "1.old").mkdir()
    assert [trial.spec.number for trial in folder.trials()] == [2, 999, 1000, 10_000]


def test_going_on_removes_what_an_unfinished_trial_left(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    for number in (1, 2):
        folder.trial_folder(number).mkdir()
    folder.write_trial(make_trial(1))
    folder.write(folder.record().model_copy(update={"status": "interrupted"}))
    folder.adopt()
    assert folder.trial_folders() == [folder.trial_folder(1)]
    assert folder.record().owner.pid == os.getpid()
    assert folder.record().owner.started == psutil.Process().create_time()


def test_a_run_that_runs_cannot_be_taken_over(folder: RunFolder) -> None:
    with pytest.raises(NotReady, match="still running"):
        folder.adopt()


def test_runs_are_found_by_path_prefix_tag_and_age(tmp_path: Path, run_spec: RunSpec) -> None:
    runs = tmp_path / "runs"
    first = RunFolder.create(runs, run_spec, [], {})
    other = run_spec.model_copy(update={"tags": {"branch": "tune"}, "engine": "noop"})
    second = RunFolder.create(runs, other, [], {})
    record = second.record()
    second.write(record.model_copy(update={"started": "2999-01-01T00:00:00+00:00"}))
    assert find(runs, str(first.path)).name == first.name
    assert find(runs, second.name).name == second.name
    assert find(runs, "branch=tune").name == second.name
    assert find(runs, "main").name == first.name
    assert find(runs, "@0").name == second.name
    assert find(runs, "@1").name == first.name
    assert len(all_runs(runs)) == 2
    with pytest.raises(UsageError, match="matches 2 runs"):
        find(runs, first.name[:8])
    with pytest.raises(UsageError, match="no run"):
        find(runs, "@2")
    with pytest.raises(UsageError, match="no run"):
        find(runs, "nothing")


def test_a_newer_schema_is_refused(folder: RunFolder) -> None:
    file = folder.path / "run.json"
    content = json.loads(file.read_text()) | {"schema_version": 999}
    file.write_text(json.dumps(content))
    with pytest.raises(UsageError, match="newer version"):
        folder.record()


def test_an_older_schema_is_refused_with_a_way_on(folder: RunFolder) -> None:
    file = folder.path / "run.json"
    content = json.loads(file.read_text()) | {"schema_version": 1, "spec": {"survey": False}}
    file.write_text(json.dumps(content))
    with pytest.raises(UsageError, match="was written by an older version") as raised:
        folder.record()
    assert "run it again" in str(raised.value.remedy)


def test_a_schema_that_is_no_number_is_no_readable_run(folder: RunFolder) -> None:
    file = folder.path / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema_version": "two"}))
    with pytest.raises(UsageError, match="not a readable run"):
        folder.record()


def test_a_run_without_an_engine_has_none_in_its_name(tmp_path: Path, run_spec: RunSpec) -> None:
    spec = run_spec.model_copy(update={"engine": None})
    name = RunFolder.create(tmp_path, spec, [], {}).name
    assert re.fullmatch(r"\d{8}-\d{4}-espbench-[0-9a-f]{4}", name)


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_a_broken_record_is_no_readable_run(folder: RunFolder, text: str) -> None:
    (folder.path / "run.json").write_text(text)
    with pytest.raises(UsageError, match="not a readable run"):
        folder.record()


def test_an_unwritable_place_names_the_option(tmp_path: Path, run_spec: RunSpec) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotReady) as raised:
        RunFolder.create(tmp_path / "file", run_spec, [], {})
    assert raised.value.remedy is not None
    assert "--runs-dir" in raised.value.remedy
