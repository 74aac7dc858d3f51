"""The notebook of the documentation does what it says, cell by cell."""

import ast
import json
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from benchmarks.synthetic import make_run

import streamgauge
from streamgauge.api import Run, RunComparison
from tests.unit.runs import write_run

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def cells() -> list[dict[str, Any]]:
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["language_info"]["name"] == "python"
    found: list[dict[str, Any]] = notebook["cells"]
    return found


def execute(source: str, names: dict[str, Any]) -> object:
    """Run a cell as Jupyter does and return what it shows: the value of its last line."""
    *before, last = ast.parse(source).body
    exec(compile(ast.Module(before, []), str(NOTEBOOK), "exec"), names)
    assert isinstance(last, ast.Expr), "every cell shows something"
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)


def test_the_notebook_is_one_and_holds_no_output(cells: list[dict[str, Any]]) -> None:
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        assert {"cell_type", "id", "metadata", "source"} <= set(cell)
        assert all(isinstance(line, str) for line in cell["source"])
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
        else:
            assert cell["cell_type"] == "markdown"


def test_every_cell_runs_and_shows_what_it_says(
    cells: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        make_run(tmp_path / "runs", trials=6, repeats=3, outputs=1000)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = {
        cell["id"]: execute("".join(cell["source"]), names)
        for cell in cells
        if cell["cell_type"] == "code"
    }
    assert isinstance(shown["open-run"], Run)
    assert shown["open-run"].name == streamgauge.open("@0").name
    for table, rows in (("show-trials", 6), ("show-latencies", 2), ("show-timeline", 6)):
        assert len(shown[table]) == rows  # type: ignore[arg-type]
    assert isinstance(shown["compare-runs"], RunComparison)
    assert "latency.p99" in shown["compare-runs"]._repr_markdown_()
    assert set(shown["compare-table"]["query"]) == {"q1", "q3"}  # type: ignore[index]
    for chart in ("draw-latency", "compare-chart"):
        drawn = shown[chart]
        assert isinstance(drawn, alt.TopLevelMixin)
        assert drawn.to_dict()["$schema"]


def test_a_run_without_finished_trials_shows_empty_tables(
    cells: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        write_run(tmp_path / "runs", [])
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] == "code":
            execute("".join(cell["source"]), names)
    assert len(names["run"].trials) == 0
