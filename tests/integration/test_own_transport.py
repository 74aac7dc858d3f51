"""A transport that another package brings: runs go over it, and every answer is checked."""

import json
import subprocess
import tempfile
from pathlib import Path

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


@pytest.mark.spark
@pytest.mark.usefixtures("piles")
def test_one_wrong_answer_of_many_right_ones_is_found_over_it(tmp_path: Path) -> None:
    """By the command line; children find the package as we do."""
    command = [*COMMAND, "run", "espbench/identity", "--transport", "piles", *SHORT, "--keep"]
    options = ["-e", "reference", "-E", "fault=drop:9", "--partitions", "2", "--rate", "5k/s"]
    place = ["--runs-dir", str(tmp_path)]
    done = subprocess.run([*command, *options, *place, "--json"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    assert trial["status"] == "done"
    assert trial["correct"] is False, trial["reasons"]
    assert trial["counts"]["expected"] >= 15_000
    assert trial["counts"]["expected"] == trial["counts"]["correct"] + 1
    assert trial["counts"]["missing"] == 1
    assert not list(Path(tempfile.gettempdir()).glob("piles-*"))
    job = json.loads(next(tmp_path.rglob("job.json")).read_text())
    assert job["transport"] == "piles"
    assert Path(job["via"]["folder"]).name.startswith("piles-")
    # What was kept tells the same once more, though the piles are gone.
    again = subprocess.run([*COMMAND, "validate", "@0", *place], timeout=240)
    assert again.returncode == 1


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
    assert "--transport piles cannot be measured without an engine" in capsys.readouterr().err
