"""Searches with the real services, as short as they can be; they measure nothing."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from streamgauge.results.folder import RunFolder
from tests.integration.test_run import COMMAND, environment, events

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.exclusive]
__all__ = ["environment"]

SHORT = ["-x", "sustainable", "--quick", "--warmup", "1s", "--duration", "3s", "--json"]


def search(environment: dict[str, str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Return exit code and answer of a search, with the status of the run."""
    command = [*COMMAND, "run", "espbench/q3", *SHORT, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    (found,) = told["answer"]["searches"]
    return done.returncode, {**found, "status": told["status"]}


def test_a_search_from_the_probe_to_the_answer(environment: dict[str, str]) -> None:
    code, found = search(environment, "-e", "reference")
    assert found["trials"][0]["role"] == "probe"
    assert found["catch_up"] > 100
    assert found["trials"][1]["rate"] == pytest.approx(0.5 * found["catch_up"], rel=0.01)
    assert code in (0, 1, 4), "how much the machine can take is not asked here"


def test_a_rate_that_holds_at_the_upper_limit(environment: dict[str, str]) -> None:
    code, found = search(environment, "-e", "reference", "--rate", "200/s,400/s")
    assert (code, found["rate"], found["limit"]) == (0, 400, "search"), found["trials"]
    assert [trial["role"] for trial in found["trials"]] == [
        "bracket", "bracket", "confirm", "latency",
    ]  # fmt: skip
    assert [each["share"] for each in found["latency"]] == [1.0, 0.5]


def test_an_engine_that_dies_sustains_nothing(environment: dict[str, str]) -> None:
    code, found = search(environment, "-e", "reference", "-E", "fault=die:1", "--rate", "1k/s,2k/s")
    assert (code, found["rate"], found["status"]) == (1, None, "done")
    assert "the engine died" in found["trials"][0]["reason"]


def test_a_search_goes_on_where_it_was_interrupted(
    environment: dict[str, str], tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    arguments = ["run", "espbench/q3", "-e", "reference", *SHORT, "--rate", "200/s,400/s"]
    command = subprocess.Popen([*COMMAND, *arguments], env=environment, stdout=subprocess.DEVNULL)
    next(e for e in events(runs) if e["trial"] == 2 and e.get("phase") == "measure")
    command.send_signal(signal.SIGKILL)
    command.wait()
    (path,) = runs.iterdir()
    before = RunFolder(path).trials()
    assert len(before) == 1
    resumed = subprocess.run(
        [*COMMAND, "run", "--resume", "@0", "--json"], env=environment, capture_output=True
    )
    assert resumed.returncode == 0, resumed.stderr.decode()
    (found,) = json.loads(resumed.stdout)["answer"]["searches"]
    assert (found["rate"], found["limit"]) == (400, "search")
    assert RunFolder(path).trials()[:1] == before
