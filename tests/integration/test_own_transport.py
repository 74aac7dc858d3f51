"""A transport that another package brings: runs go over it, and every answer is checked."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from streamgauge.cli.main import execute
from streamgauge.errors import UsageError
from tests.integration.trials import COMMAND
from tests.plugins import Plugins

pytestmark = pytest.mark.integration

CODE = Path(__file__).parents[1] / "toy" / "streamgauge_piles" / "__init__.py"
SHORT = ["--quick", "--warmup", "1s", "--duration", "2s"]


@pytest.fixture
def piles(plugins: Plugins) -> None:
    registered = {"transports": {"piles": "somebodys_piles:Piles"}}
    plugins.install("somebodys_piles", CODE.read_text(), registered)


def run(folder: Path, query: str, *options: str, ends_with: int = 0) -> dict[str, Any]:
    """Run a trial over the piles, by the command line; children find the package as we do."""
    done = subprocess.run(
        [
            *(*COMMAND, "run", f"espbench/{query}", "--transport", "piles", *SHORT),
            *(*options, "--runs-dir", str(folder), "--json"),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == ends_with, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def left() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("piles-*"))


@pytest.mark.spark
@pytest.mark.usefixtures("piles")
def test_right_answers_over_it_are_found_right(tmp_path: Path) -> None:
    options = ["--partitions", "2", "--rate", "5k/s", "--keep"]
    found = run(tmp_path, "identity", "-e", "reference", *options)
    (trial,) = found["trials"]
    assert (found["status"], trial["status"]) == ("done", "done")
    assert trial["correct"], trial["reasons"]
    assert trial["counts"]["expected"] == trial["counts"]["correct"] >= 15_000
    assert left() == []
    job = json.loads(next(tmp_path.rglob("job.json")).read_text())
    assert job["transport"] == "piles"
    assert Path(job["via"]["folder"]).name.startswith("piles-")
    # What was kept tells the same once more, though the piles are gone.
    again = [sys.executable, "-m", "streamgauge", "validate", "@0", "--runs-dir", str(tmp_path)]
    subprocess.run(again, check=True, timeout=240)


@pytest.mark.spark
@pytest.mark.usefixtures("piles")
def test_a_wrong_answer_over_it_is_found_wrong(tmp_path: Path) -> None:
    (trial,) = run(tmp_path, "identity", "-e", "reference", "-E", "fault=drop:9", ends_with=1)[
        "trials"
    ]
    assert trial["correct"] is False, trial["reasons"]
    assert trial["counts"]["missing"] == 1
    assert left() == []


@pytest.mark.usefixtures("piles")
def test_it_is_listed_and_an_engine_that_cannot_use_it_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["list", "transports"]) == 0
    assert "files of this machine" in capsys.readouterr().out
    over = ["run", "espbench/q3", "--transport", "piles", "--dry-run"]
    assert execute([*over, "-e", "spark"]) == UsageError.exit_code
    assert "transport 'piles' cannot be used by engine 'spark'" in capsys.readouterr().err
    assert execute([*over, "-x", "broker"]) == UsageError.exit_code
    assert "--transport piles cannot be looked at without an engine" in capsys.readouterr().err
