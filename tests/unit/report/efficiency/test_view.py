"""Costs of tasks over the load, in the terminal, on the page and as a picture."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from streamgauge.experiments.efficiency import Efficiency, EfficiencyByTask
from streamgauge.report.charts.picture import draw
from streamgauge.report.charts.theme import spec_of
from streamgauge.report.efficiency.charts import picture_of_costs
from streamgauge.report.page.report import report_page
from streamgauge.report.terminal.overview import render
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from tests.unit.runs import make_trial, write_run

RATES = (1000.0, 2000.0, 4000.0)


def folder_of(
    runs: Path, rates: tuple[float, ...] = RATES, by: tuple[str, ...] = ("jfr",)
) -> RunFolder:
    """A run in which a record is parsed in 10 µs, and 0.05 cores are used in any case."""
    asked = {"experiment": "efficiency", "rates": rates, "repeats": len(by)}
    spec = RunSpec.model_validate({"workload": "espbench", "queries": ("q3",), **asked})
    experiment = EfficiencyByTask(spec)
    results = []
    for trial in experiment.plan():
        rest = 0.05 / trial.rate
        metrics = {"cost.parse": 10e-6, "cost.rest": rest, "cost.total": 10e-6 + rest}
        metrics |= {"rate.appended": trial.rate, "network.lo": 100 * trial.rate}
        made = make_trial(trial.number, metrics, profiled_by=[by[trial.repeat - 1]])
        results.append(made.model_copy(update={"spec": trial}))
    folder = write_run(runs, results, **asked)
    answer = experiment.answer(results).model_dump(mode="json")
    folder.write(folder.record().model_copy(update={"answer": answer}))
    return folder


def shown(folder: RunFolder) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render(folder))
    return console.export_text()


def test_the_terminal_has_a_column_for_each_load_and_the_lines(tmp_path: Path) -> None:
    text = shown(folder_of(tmp_path))
    assert re.search(r"CPU per record\s+\|\s+1k/s \|\s+2k/s \|\s+4k/s", text)
    assert re.search(r"parse\s+\| 10 µs \(17%\) \|", text)
    assert re.search(r"q3\s+\|\s+total \|\s+10 µs \|\s+0.050 \|\s+1.0000", text)
    assert "by jfr" not in text
    assert re.search(r"each trial: streamgauge tasks \S+", text)


def test_what_two_back_ends_saw_has_columns_and_lines_of_its_own(tmp_path: Path) -> None:
    text = shown(folder_of(tmp_path, by=("jfr", "perf")))
    assert "1k/s, by jfr" in text
    assert "1k/s, by perf" in text
    assert "total, by perf" in text


def test_the_page_draws_costs_shares_lines_and_the_network(tmp_path: Path) -> None:
    page = str(report_page([folder_of(tmp_path)]))
    for name in ("cost", "shares", "lines", "network"):
        assert f"q3: {name}" in page


@pytest.mark.parametrize(("rates", "charts"), [(RATES, 2), (RATES[:2], 1)])
def test_a_line_needs_three_loads(tmp_path: Path, rates: tuple[float, ...], charts: int) -> None:
    folder = folder_of(tmp_path, rates)
    assert ("q3: lines" in str(report_page([folder]))) == (charts == 2)
    answer = Efficiency.model_validate(folder.record().answer)
    drawn = spec_of(picture_of_costs(answer))["vconcat"][0]["hconcat"]
    assert len(drawn) == charts


def test_points_lie_on_their_lines(tmp_path: Path) -> None:
    answer = Efficiency.model_validate(folder_of(tmp_path).record().answer)
    _, lines = spec_of(picture_of_costs(answer))["vconcat"][0]["hconcat"]
    fits, signs = (layer["data"]["values"] for layer in lines["layer"])
    cores = {(row["task"], row["rate"]): row["cores"] for row in signs}
    assert cores["total", 4000.0] == pytest.approx(0.09)
    lines = {(row["task"], row["rate"]): row["cores"] for row in fits}
    assert lines["total", 0.0] == pytest.approx(0.05)
    assert lines["total", 4000.0] == pytest.approx(cores["total", 4000.0])


def test_the_picture_of_a_run(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, by=("jfr", "perf"))
    picture = draw(folder)
    assert "q3: CPU time per record" in picture
    assert "q3: cores over the load" in picture
    assert "by perf" in picture
    assert "4k/s, by jfr" in json.dumps(report_page([folder]))
