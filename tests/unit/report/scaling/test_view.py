"""A search over a grid as the terminal and the page show it, from a run that was made up."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from streamgauge.report.charts.picture import draw
from streamgauge.report.page.report import report_page
from streamgauge.report.view import view_of
from streamgauge.results.folder import RunFolder
from streamgauge.units import parse_rate
from tests.simulated import write_search
from tests.unit.experiments.scalability.test_experiment import asked, scaled


def written(place: Path, driver: float = 1e9, **options: Any) -> RunFolder:
    ladder = {"load": "rate:4k/s..40k/s*1.4", "resources": "instances:1..4", "metric": "capacity"}
    machine: dict[str, object] = {"cores": 2, "host": "bench", "cpu": "a fast one"}
    return write_search(place, asked(**{**ladder, **options}), scaled(driver=driver), machine)


def terminal_of(folder: RunFolder) -> str:
    console = Console(width=140, record=True, file=StringIO())
    for part in view_of(folder, folder.record(), folder.trials()).terminal():
        console.print(part)
    return console.export_text()


def spec_of(page: str, name: str) -> dict[str, Any]:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page)
    assert found is not None
    loaded: dict[str, Any] = json.loads(found[1])
    return loaded


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return written(tmp_path_factory.mktemp("runs"), price=0.05)


def test_the_terminal_shows_the_grid_the_answer_and_what_it_costs(folder: RunFolder) -> None:
    told = terminal_of(folder)
    assert "lag.trend < 0.05 * rate, by rate and instances" in told
    assert re.search(r"11k/s +FAIL 3.\d+k/s +pass", told)
    assert "uc2: capacity in rate for instances 1: 7.84k/s, 2: 15.4k/s" in told
    assert "Universal Scalability Law" in told
    assert "scaling efficiency from 1 to 2" in told
    assert "cost per month" in told


def test_the_page_has_curve_model_grid_and_lags(folder: RunFolder) -> None:
    page = report_page([folder])
    curve = spec_of(page, "run-0-scaling-0-curve")
    marks = [layer["mark"]["type"] for layer in curve["layer"]]
    assert marks == ["area", "line", "line", "line", "line", "point"]
    points = curve["layer"][-1]["data"]["values"]
    assert [row["x"] for row in points] == [1, 2, 3, 4]
    band = curve["layer"][0]["data"]["values"]
    assert band[-1]["size"] == 8
    assert band[-1]["measured"] is False
    lags = spec_of(page, "run-0-scaling-0-lags")
    tried = [len(each.trials) for each in answer_of(folder).tried]
    assert len(lags["concat"]) == sum(tried)
    for text in ("Capacity: uc2", "Lag over time", "predicted, not measured", "was not tried"):
        assert text in page


def answer_of(folder: RunFolder) -> Any:
    view: Any = view_of(folder, folder.record(), folder.trials())
    return view.scaling.searches[0]


def test_it_is_drawn_as_a_picture(folder: RunFolder) -> None:
    assert draw(folder).startswith("<svg")


def test_a_search_cut_off_or_without_any_answer_is_shown_too(tmp_path: Path) -> None:
    nothing = written(tmp_path, driver=10, resources="instances:1")
    assert "unknown (the harness was the limit)" in terminal_of(nothing)
    assert "the harness was the limit" in report_page([nothing])
    record = nothing.record()
    nothing.write(record.model_copy(update={"answer": {}, "status": "interrupted"}))
    assert "theodolite" in report_page([nothing])
    assert terminal_of(nothing)


def test_the_grid_is_in_order_however_it_was_searched(tmp_path: Path) -> None:
    told = terminal_of(written(tmp_path, strategy="binary", begin="nothing"))
    found = [line.split()[0] for line in told.splitlines() if re.match(r" +[\d.]+k/s ", line)]
    assert found == sorted(found, key=parse_rate)
    assert len(found) > 3


def test_a_demand_has_no_model(tmp_path: Path) -> None:
    page = report_page([written(tmp_path, metric="demand")])
    curve = spec_of(page, "run-0-scaling-0-curve")
    assert [layer["mark"]["type"] for layer in curve["layer"]] == ["line", "line", "point"]
    assert "Demand: uc2" in page
