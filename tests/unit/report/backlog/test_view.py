from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from streamgauge.experiments.backlog import Backlog
from streamgauge.report.backlog.charts import panels, picture_of_windows
from streamgauge.report.charts.theme import spec_of
from streamgauge.report.page.report import report_page
from streamgauge.report.terminal.overview import render
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult, Verdict
from tests.unit.runs import make_trial, write_run

NOT_ASKED = Verdict(holds=None, reason="a backlog has no schedule to keep")
METHODS = ("bucket", "slices", "pairs")


def trials() -> list[TrialResult]:
    found = []
    for period in ("500ms", "10ms"):
        for window, overlap in (("500ms", 1), ("30s", 60)):
            for method in METHODS:
                number = len(found) + 1
                rate = 100_000.0 / (1 + overlap / number)
                told = {"rate.catch_up": rate, "cpu.engine": 1.5, "state.bytes": 3e6 * number}
                found.append(
                    make_trial(
                        number,
                        metrics=told,
                        factors={"P.period": period, "P.window": window, "E.method": method},
                        settings={
                            "method": method,
                            "method.overlap": str(overlap),
                            "method.additions": str(overlap / number),
                            "method.size_ms": str(500 * overlap),
                            "method.slide_ms": "500",
                            "method.per_second": "2" if period == "500ms" else "100",
                        },
                    )
                )
    return found


def folder_of(tmp_path: Path, results: list[TrialResult]) -> RunFolder:
    folder = write_run(tmp_path, results, experiment="backlog")
    answer = Backlog(folder.record().spec).answer(results).model_dump(mode="json")
    folder.write(folder.record().model_copy(update={"answer": answer}))
    return folder


def shown(folder: RunFolder) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render(folder))
    return console.export_text()


def test_the_terminal_tells_each_trial_and_what_explains_its_rates(tmp_path: Path) -> None:
    text = shown(folder_of(tmp_path, trials()))
    header, _, first = [line for line in text.splitlines() if line.startswith("|")][:3]
    assert [cell.strip() for cell in header.strip("|").split("|")] == [
        *("P.period", "P.window", "method", "overlap", "worked off"),
        *("CPU per record", "state", "rows of state"),
    ]
    assert "50k/s" in first
    assert "30.0 µs" in first
    assert "µs for each addition" in text


def test_what_auto_takes_stands_beside_the_best_method(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, trials())
    text = shown(folder)
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    header = next(row for row in rows if row[-1].strip() == "of the best")
    assert [cell.strip() for cell in header] == [
        *("P.period", "P.window", "auto takes", "of the best")
    ]
    told = [[cell.strip() for cell in row] for row in rows[rows.index(header) + 2 :]]
    assert told[1] == ["500ms", "30s", "pairs", "1.00"]
    assert told[3] == ["10ms", "30s", "slices", "0.93"]
    assert "worst case: auto: bucket, 0.67 of the best, at P.period=500ms, P.window=500ms" in text
    assert "worst case: auto: bucket, 0.67 of the best" in str(report_page([folder]))


def test_that_a_backlog_has_no_schedule_is_no_doubt_but_a_wrong_answer_is(tmp_path: Path) -> None:
    found = {"metrics": {"rate.catch_up": 5000.0}, "backlog": True}
    open_verdicts = {"valid": NOT_ASKED, "kept_up": NOT_ASKED}
    wrong = Verdict(holds=False, reason="3 outputs are wrong")
    text = shown(
        folder_of(
            tmp_path,
            [make_trial(1, **found, **open_verdicts), make_trial(2, correct=wrong, **found)],
        )
    )
    assert NOT_ASKED.reason not in text
    assert "3 outputs are wrong" in text
    assert text.count("5k/s") == 1, "a rate of wrong answers is none"


def test_a_run_may_leave_out_methods(tmp_path: Path) -> None:
    some = [each for each in trials() if each.settings["method"] != "bucket"]
    page = str(report_page([folder_of(tmp_path, some)]))
    assert "P.period 500ms: records worked off per second" in page
    assert 'bucket"' not in page


def test_the_page_draws_a_chart_for_each_density(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, trials())
    page = str(report_page([folder]))
    assert "P.period 500ms: records worked off per second" in page
    assert "P.period 10ms: state" in page


def test_the_picture_has_points_for_trials_and_a_line_for_the_model(tmp_path: Path) -> None:
    answer = Backlog(folder_of(tmp_path, trials()).record().spec).answer(trials())
    assert panels(answer) == ["P.period 500ms", "P.period 10ms"]
    spec = spec_of(picture_of_windows(answer))
    text = json.dumps(spec)
    assert text.count('"line"') == 2
    assert text.count('"point"') == 4


@pytest.mark.parametrize("known", [{}, {"state.bytes": 0.0}])
def test_an_engine_that_reports_no_state_has_no_chart_of_it(
    tmp_path: Path, known: dict[str, float]
) -> None:
    results = [
        each.model_copy(update={"metrics": {"rate.catch_up": 5000.0, **known}}) for each in trials()
    ]
    folder = folder_of(tmp_path, results)
    page = str(report_page([folder]))
    assert "P.period 10ms: records worked off" in page
    assert "P.period 10ms: state" not in page
    spec = spec_of(picture_of_windows(Backlog(folder.record().spec).answer(results)))
    assert json.dumps(spec).count('"point"') == 2


def test_backlogs_without_windows_have_a_table_alone(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, [make_trial(1, metrics={"rate.catch_up": 5000.0})])
    assert "5k/s" in shown(folder)
    assert "overlap" not in shown(folder)
    assert "Window methods" not in str(report_page([folder]))
