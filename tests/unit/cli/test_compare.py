import json
import shutil
import zipfile
from pathlib import Path

import pytest

from streamgauge.cli.main import execute
from tests.unit.runs import make_trial, three_trials, write_run


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `base`, `slow` and `single`."""
    folder = tmp_path_factory.mktemp("written")
    three_trials(folder, 100, tags={"name": "base"})
    three_trials(folder, 130, seed=2, tags={"name": "slow"})
    write_run(folder, [make_trial()], tags={"name": "single"}, engine="noop")
    return folder


@pytest.fixture
def runs(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of those runs, which the commands look into."""
    folder = shutil.copytree(written, tmp_path / "runs")
    monkeypatch.setenv("STREAMGAUGE_RUNS_DIR", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["base", "slow"], 0),
        (["base", "slow", "--fail-on", "latency.p99:+5%"], 1),
        (["slow", "base", "--fail-on", "latency.p99:+5%"], 0),
        (["base", "slow", "--fail-on", "latency.p99:+50%"], 0),
        (["base", "base", "--fail-on", "latency.p99:+5%"], 0),
        (["base", "single", "--fail-on", "latency.p99:+5%"], 4),
        (["base", "slow", "single", "--fail-on", "latency.p99:+5%"], 4),
        (["base", "slow", "--fail-on", "cpu.engine:+5%"], 4),
        (["base", "slow", "--fail-on", "latency.p99"], 2),
        (["base", "nothing"], 2),
        (["base"], 2),
    ],
)
def test_exit_codes(runs, arguments, code, capsys):
    assert execute(["compare", *arguments]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_limit_may_be_on_a_role_of_any_name(tmp_path, capsys):
    for tag, cores in (("few", 0.5), ("many", 0.8)):
        trials = [make_trial(n, {"cpu.cache": cores + n / 1000}) for n in (1, 2, 3)]
        write_run(tmp_path / "runs", trials, tags={"name": tag})
    command = ["compare", "few", "many", "--runs-dir", str(tmp_path / "runs")]
    assert execute([*command, "--fail-on", "cpu.cache:+5%"]) == 1
    assert "cpu.cache" in capsys.readouterr().out
    assert execute([*command, "--fail-on", "cpus.cache:+5%"]) == 2


def test_limits_come_from_the_environment_too(runs, monkeypatch, capsys):
    monkeypatch.setenv("STREAMGAUGE_FAIL_ON", "latency.p99:+5% latency.p50:+5%")
    assert execute(["compare", "base", "slow"]) == 1
    assert capsys.readouterr().out.count("exceeded") == 2


@pytest.mark.parametrize("form", ["text", "markdown", "json", "html"])
def test_every_form_goes_to_stdout_or_a_file(runs, form, tmp_path, capsys):
    file = tmp_path / "compared"
    assert execute(["compare", "base", "slow", "--format", form]) == 0
    printed = capsys.readouterr().out
    assert "slower" in printed
    assert execute(["compare", "base", "slow", "--format", form, "--output", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert file.read_text() == printed


def test_json_is_asked_for_as_everywhere(runs, capsys):
    assert execute(["compare", "base", "slow", "--json"]) == 0
    (compared,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert compared["pairs"][0]["comparable"]
    assert execute(["export", "base", "--format", "csv", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["files"]) == 3


def test_an_output_that_cannot_be_written_names_the_option(runs, capsys):
    assert execute(["compare", "base", "slow", "--output", "nowhere/file"]) == 3
    assert "--output" in capsys.readouterr().err


def test_a_run_from_a_newer_version_is_refused(runs, capsys):
    (folder,) = [each for each in runs.iterdir() if "noop" in each.name]
    record = json.loads((folder / "run.json").read_text()) | {"schema_version": 999}
    (folder / "run.json").write_text(json.dumps(record))
    assert execute(["compare", "base", folder.name]) == 2
    assert "newer version" in capsys.readouterr().err


def test_runs_lists_what_is_wanted(runs, capsys):
    assert execute(["runs", "--engine", "noop", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert "noop" in found["run"]
    assert execute(["runs", "--tag", "name=slow"]) == 0
    assert capsys.readouterr().out.count("espbench/q3") == 1
    assert execute(["runs", "--since", "2999-01-01"]) == 0
    assert "no matching runs" in capsys.readouterr().out


def test_runs_lists_the_others_beside_a_broken_one(runs, capsys):
    (runs / "broken").mkdir()
    (runs / "broken" / "run.json").write_text("{")
    assert execute(["runs"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("espbench/q3") == 3
    assert len(printed.err.splitlines()) == 1
    assert "broken is not a readable run" in printed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--status", "fine"], "unknown status"), (["--since", "soon"], "neither a date nor an age")],
)
def test_runs_refuses_what_makes_no_sense(runs, arguments, said, capsys):
    assert execute(["runs", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_export_names_its_files(runs, form, capsys):
    assert execute(["export", "base", "--format", form, "--output", "out"]) == 0
    files = capsys.readouterr().out.splitlines()
    assert files == [f"out/{name}.{form}" for name in ("trials", "latencies", "timeline")]
    assert all(Path(file).stat().st_size for file in files)


def test_a_package_is_one_file_named_like_the_run(runs, capsys):
    assert execute(["export", "base", "--package"]) == 0
    file = Path(capsys.readouterr().out.strip())
    assert file.stem in {folder.name for folder in runs.iterdir()}
    assert zipfile.ZipFile(file).testzip() is None
    preset = next(name for name in zipfile.ZipFile(file).namelist() if name.endswith(".yaml"))
    zipfile.ZipFile(file).extract(preset)
    assert execute(["run", "--preset", preset, "-e", "noop", "--dry-run"]) == 0
    assert "q3" in capsys.readouterr().out
