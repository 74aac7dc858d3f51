import io
from pathlib import Path

import pytest
from rich.console import Console

from streamgauge.report.terminal.overview import render
from streamgauge.report.terminal.runs import run_lines
from streamgauge.results.folder import RunFolder
from streamgauge.results.summary import summary
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Counts, TrialResult, Verdict
from tests.unit.conftest import TrialMaker

NO = Verdict(holds=False, reason="of 120 expected and 119 outputs: 1 missing")
UNKNOWN = Verdict(holds=None, reason="a quick trial is too short to judge the pace")


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


def test_what_was_varied_has_a_column_where_it_differs(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    trial = make_trial(1)
    for number, trigger in enumerate(("0s", "1s"), 1):
        factors = {"rate": "1000/s", "E.trigger": trigger, "partitions": "2"}
        spec = trial.spec.model_copy(update={"number": number, "factors": factors})
        put(folder, trial.model_copy(update={"spec": spec, "correct": NO}))
    text = shown(folder)
    header, *rows = [line for line in text.splitlines() if "query" in line or " q3 " in line]
    assert "E.trigger" in header
    assert "partitions" not in header
    assert [row.split()[:3] for row in rows if "1k/s" in row and "at" not in row] == [
        ["q3", "1k/s", "0s"],
        ["q3", "1k/s", "1s"],
    ]
    assert "q3 at 1k/s, E.trigger=1s, partitions=2: of 120 expected" in text


def test_nothing_is_told_below_the_resolution_of_the_clock(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    put(folder, make_trial(1, metrics={"latency.p50": 0.0, "latency.p90": 0.001}))
    text = shown(folder)
    assert "< 1 ms" in text
    assert " 1 ms" in text


def test_intermediate_outputs_are_counted_and_told(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    counts = Counts(expected=40, correct=40, intermediate=4960)
    put(folder, make_trial(1).model_copy(update={"counts": counts}))
    text = shown(folder)
    assert " 5k " in text
    assert "4.96k of the outputs are intermediate" in text


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


P90 = "latency.p90"


def repeated(
    make_trial: TrialMaker, *found: dict[str, object], query: str = "q3"
) -> list[TrialResult]:
    """Make a trial for each of these, all of them repeats of the same."""
    trials = [make_trial(number, **changes) for number, changes in enumerate(found, start=1)]
    own = [{"repeat": trial.spec.number, "query": query} for trial in trials]
    return [
        trial.model_copy(update={"spec": trial.spec.model_copy(update=change)})
        for trial, change in zip(trials, own, strict=True)
    ]


def rows(text: str, begin: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip().startswith(begin)]


def test_repeats_are_one_row_with_their_median_and_range(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    for trial in repeated(
        make_trial,
        *({"metrics": {P90: value, "cpu.engine": value}} for value in (0.47, 0.441, 0.456)),
    ):
        put(folder, trial)
    text = shown(folder)
    row, *_ = rows(text, "q3")
    assert "456 ms" in row
    assert row.count("✓") == 3
    below = text.splitlines()[text.splitlines().index(row) + 1]
    assert below.split() == ["×3", "441–470"]
    assert "median of n repeats" in text


def test_a_range_across_units_names_both(folder: RunFolder, make_trial: TrialMaker) -> None:
    for trial in repeated(make_trial, {"metrics": {P90: 0.0}}, {"metrics": {P90: 1.5}}):
        put(folder, trial)
    assert "<1ms–1.5s" in shown(folder)


def test_a_verdict_that_not_all_repeats_hold_is_counted(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    for trial in repeated(make_trial, {}, {"correct": NO}, {"kept_up": UNKNOWN}):
        put(folder, trial)
    text = shown(folder)
    row, *_ = rows(text, "q3")
    assert row.split()[2:5] == ["✓", "2/3", "2/3"]
    assert f"q3 at 1k/s, repeat 2: {NO.reason}" in text
    assert f"q3 at 1k/s, repeat 3: {UNKNOWN.reason}" in text


def test_what_is_said_of_all_repeats_is_said_once(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    for trial in repeated(make_trial, {"correct": NO}, {"correct": NO}):
        put(folder, trial)
    text = shown(folder)
    row, *_ = rows(text, "q3")
    assert row.split()[2:5] == ["✓", "✗", "✓"]
    assert text.count(NO.reason) == 1
    assert f"q3 at 1k/s: {NO.reason}" in text


def test_a_broken_repeat_does_not_blur_the_figures(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    invalid = {"status": "invalid", "valid": NO, "metrics": {P90: 9.0}}
    for trial in repeated(make_trial, {"metrics": {P90: 0.012}}, invalid):
        put(folder, trial)
    text = shown(folder)
    row, *_ = rows(text, "q3")
    assert " 12 ms" in row
    assert "1/2" in row
    assert "9 s" not in text


def test_other_rates_and_queries_are_no_repeats(folder: RunFolder, make_trial: TrialMaker) -> None:
    (one,), (two,) = repeated(make_trial, {}), repeated(make_trial, {}, query="q1")
    three = two.spec.model_copy(update={"number": 3, "rate": 2000.0})
    put(folder, one)
    put(folder, two.model_copy(update={"spec": two.spec.model_copy(update={"number": 2})}))
    put(folder, two.model_copy(update={"spec": three}))
    text = shown(folder)
    assert "×" not in text
    assert len(rows(text, "q1")) == 2


def test_windows_are_also_told_from_their_end(folder: RunFolder, make_trial: TrialMaker) -> None:
    found = [
        {"metrics": {P90: 0.456, "window_latency.p90": value, "window_latency.max": 1.0}}
        for value in (0.5, 0.52)
    ]
    put(folder, repeated(make_trial, found[0], query="q1")[0])
    assert "q1 at 1k/s from the window's end: p90 500 ms, max 1 s\n" in shown(folder)
    put(folder, repeated(make_trial, *found, query="q1")[1])
    text = shown(folder)
    assert "from the window's end: p90 510 ms (500–520), max 1 s (1)\n" in text


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
        "intermediate": 0,
    }  # fmt: skip


def test_the_shape_of_a_load_is_shown_beside_its_mean(
    folder: RunFolder, make_trial: TrialMaker
) -> None:
    trial = make_trial(1)
    for number, shape in enumerate(("poisson:1k/s", "replay:/far/away/morning.csv"), 1):
        spec = trial.spec.model_copy(update={"number": number, "shape": shape})
        put(folder, trial.model_copy(update={"spec": spec, "correct": NO}))
    text = shown(folder)
    assert "q3 at 1k/s (poisson:1k/s): " in text
    assert text.count("poisson:1k/s") == 2
    assert "replay:morning.csv" in text
    assert "/far" not in text
