"""A search with the real services, as short as it can be; it measures nothing."""

import json
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from streamgauge.results.folder import RunFolder
from tests.integration.commands import environment, events
from tests.integration.trials import COMMAND

pytestmark = [pytest.mark.integration, pytest.mark.spark]
__all__ = ["environment"]


def test_an_engine_that_dies_sustains_nothing(environment: dict[str, str]) -> None:
    search = ["-x", "sustainable", "--quick", "--warmup", "1s", "--duration", "3s", "--json"]
    engine = ["-e", "reference", "-E", "fault=die:1", "--rate", "1k/s,2k/s"]
    command = [*COMMAND, "run", "espbench/q3", *search, *engine]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    (found,) = told["answer"]["searches"]
    assert (done.returncode, found["rate"], told["status"]) == (1, None, "done")
    assert "the engine died" in found["trials"][0]["reason"]


def test_a_search_goes_on_after_everything_was_killed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    del environment["STREAMGAUGE_KAFKA"], environment["STREAMGAUGE_POSTGRES"]
    arguments = ["run", "rovio/aggregation", "-e", "reference", "--transport", "flight"]
    search = ["-x", "sustainable", "--quick", "--warmup", "1s", "--duration", "3s"]
    limits = ["--rate", "1k/s,1400/s", "-P", "window=1s,500ms"]
    command = subprocess.Popen([*COMMAND, *arguments, *search, *limits], env=environment)
    measured = (e for e in events(tmp_path / "runs", command) if e.get("phase") == "measure")
    next(event for event in measured if event["trial"] == 2)
    processes = [*psutil.Process(command.pid).children(recursive=True), psutil.Process(command.pid)]
    for process in processes:
        process.send_signal(signal.SIGKILL)
    command.wait()
    (path,) = (tmp_path / "runs").iterdir()
    kept = RunFolder(path).trials()
    resumed = [*COMMAND, "run", "--resume", "@0", "--json"]
    done = subprocess.run(resumed, env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    assert json.loads(done.stdout)["status"] == "done"
    assert RunFolder(path).trials()[: len(kept)] == kept
    (found,) = json.loads(done.stdout)["answer"]["searches"]
    assert [trial["trial"] for trial in found["trials"]][:2] == [1, 2]
    assert found["rate"] is not None
