import json
from pathlib import Path

import pytest
from benchmarks.synthetic import make_run

from streamgauge.cli.main import execute
from streamgauge.cli.report import leave_report


def test_report_writes_into_the_run_s_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path, outputs=100)
    assert execute(["report", "@0", "--runs-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{folder.path / 'report.html'}\n"
    assert (folder.path / "report.html").exists()


def test_several_runs_make_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [make_run(tmp_path, outputs=100).name for _ in range(2)]
    assert execute(["report", *names, "--runs-dir", str(tmp_path), "--json"]) == 0
    page = json.loads(capsys.readouterr().out)["report"]
    assert page == str(tmp_path / "report.html")
    assert all(name in Path(page).read_text("utf-8") for name in names)


def test_runs_that_are_named_by_path_need_no_folder_of_runs_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [str(make_run(tmp_path / "elsewhere", outputs=100).path) for _ in range(2)]
    monkeypatch.chdir(tmp_path)
    assert execute(["report", *paths]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "elsewhere" / "report.html")


def test_a_metric_over_a_factor_is_a_page_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, outputs=100)
    options = ["--over", "rate", "--metric", "latency.p50", "--runs-dir", str(tmp_path)]
    assert execute(["report", "@0", *options]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page.name == "latency.p50-over-rate.html"
    assert "latency.p50 over rate" in page.read_text("utf-8")


@pytest.mark.parametrize("what", [[], ["--over", "rate"]])
def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: list[str]
) -> None:
    make_run(tmp_path, outputs=100)
    (tmp_path / "taken").mkdir()
    for place in (tmp_path / "nowhere" / "page.html", tmp_path / "taken"):
        options = [*what, "--output", str(place), "--runs-dir", str(tmp_path)]
        assert execute(["report", "@0", *options]) == 3
        told = capsys.readouterr().err
        assert f"cannot write {place}" in told
        assert "Traceback" not in told


def test_a_run_that_is_not_there_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["report", "nothing", "--runs-dir", str(tmp_path)]) == 2
    assert "there is no run 'nothing'" in capsys.readouterr().err


def test_a_run_stands_even_if_its_report_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path, outputs=100)
    (folder.path / "report.html").mkdir()
    leave_report(folder)
    assert "no report: cannot write" in capsys.readouterr().err
