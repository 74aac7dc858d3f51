import io
from pathlib import Path

import pytest
from rich.console import Console

from streamgauge.report.listing import run_lines
from streamgauge.report.terminal import render
from streamgauge.results.folder import RunFolder
from streamgauge.results.summary import summary
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, Verdict
from tests.unit.conftest import TrialMaker

NO = Verdict(holds=False, reason="of 120 expected and 119 outputs: 1 missing")
UNKNOWN = Verdict(holds=None, reason="a quick trial is too short to tell")


@pytest.fixture
def folder(tmp_path: Path, run_spec: RunSpec) -> RunFolder:
    return RunFolder.create(tmp_path, run_spec, ["streamgauge"], {"cores": 2})


def put(folder: RunFolder, result: TrialResult) -> None:
    folder.trial_folder(result.spec.number).mkdir()
    folder.write_trial(result)


def shown(folder: RunFolder) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(render(folder))
    text = console.file
    assert isinstance(text, io.StringIO)
    return text.getvalue()


def test_a_good_trial_is_one_line(folder: RunFolder, make_trial: TrialMaker) -> None:
    put(folder, make_trial(1))
    text = shown(folder)
    (line,) = [line for line in text.splitlines() if line.strip().startswith("q3")]
    assert line.count("✓") == 3
    assert "12 ms" in line
    assert "missing" not in text


def test_nothing_is_told_below_the_resolution_of_the_clock(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    put(folder, make_trial(1, metrics={"latency.p50": 0.0, "latency.p90": 0.001}))
    text = shown(folder)
    assert "< 1 ms" in text
    assert " 1 ms" in text


def test_wrong_answers_are_told_with_their_reason(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    put(folder, make_trial(1, correct=NO))
    text = shown(folder)
    assert "✗" in text
    assert "1 missing" in text


def test_a_missed_objective_is_told(
    tmp_path: Path, run_spec: RunSpec, make_trial: TrialMaker
) -> None:
    spec = run_spec.model_copy(update={"objectives": ("latency.p90<1ms",)})
    folder = RunFolder.create(tmp_path, spec, [], {})
    put(folder, make_trial(1))
    assert "missed latency.p90 < 1 ms: latency.p90 is 12 ms" in shown(folder)


def test_of_a_broken_trial_the_cause_alone_is_told(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    broken = make_trial(1, status="invalid", cause="broker died: killed", correct=UNKNOWN)
    put(folder, broken)
    text = shown(folder)
    assert "broker died: killed" in text
    assert "too short" not in text


def test_names_of_runs_are_text(tmp_path: Path, run_spec: RunSpec) -> None:
    spec = run_spec.model_copy(update={"engine": "[red]x[/red]", "tags": {"a": "\x1b[31m\n"}})
    folder = RunFolder.create(tmp_path, spec, [], {})
    header, line = run_lines([(folder, folder.record())])
    assert header.split()[0] == "run"
    assert "on [red]x[/red] · a=�[31m�" in line


def test_the_summary_has_what_scripts_need(folder: RunFolder, make_trial: TrialMaker) -> None:
    put(folder, make_trial(1, correct=NO, kept_up=UNKNOWN))
    told = summary(folder)
    assert set(told) == {"run", "path", "status", "answer", "warnings", "trials"}
    (trial,) = told["trials"]  # type: ignore[misc]  # Json is a union
    assert isinstance(trial, dict)
    assert (trial["valid"], trial["correct"], trial["kept_up"]) == (True, False, None)
    assert trial["reasons"] == [NO.reason, UNKNOWN.reason]
    assert trial["counts"] == {
        "expected": 120, "correct": 120, "wrong": 0, "missing": 0, "duplicate": 0, "unexpected": 0,
    }  # fmt: skip
