"""Runs that are interrupted or killed: nothing is left, and they can be gone on with."""

import json
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from streamgauge.results.events import phases_of
from streamgauge.results.folder import RunFolder
from tests.integration.commands import SHORT, environment, events
from tests.integration.trials import COMMAND, make_spec, ours

pytestmark = [pytest.mark.integration, pytest.mark.spark]
__all__ = ["environment"]


def interrupt(
    arguments: list[str], environment: dict[str, str], runs: Path, trial: int, phase: str
) -> list[int]:
    """Press Ctrl-C when a trial enters a phase; return the trials that began until then."""
    before = [line for file in runs.glob("*/live.jsonl") for line in file.read_text().splitlines()]
    command = subprocess.Popen([*COMMAND, *arguments], env=environment, stderr=subprocess.PIPE)
    began = []
    try:
        for event in events(runs, command, len(before)):
            if event.get("phase") == "prepare":
                began.append(event["trial"])
            if (event["trial"], event.get("phase")) == (trial, phase):
                break
    finally:  # a run left over would fail every test after this one
        command.send_signal(signal.SIGINT)
        _, stderr = command.communicate()
    assert command.returncode == 130, (phase, stderr.decode())
    assert "Resume it: streamgauge run --resume" in stderr.decode(), phase
    assert "Traceback" not in stderr.decode(), phase
    assert not ours("streamgauge.load"), phase
    assert not ours("streamgauge.engines"), phase
    return began


@pytest.mark.timeout(900)  # eleven trials, where the others have one or two
def test_interrupted_in_any_phase_a_run_is_readable_and_goes_on(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """The second trial is interrupted in each phase in turn, and gone on with each time."""
    runs = tmp_path / "runs"
    first, *others = phases_of(make_spec("q3"))
    begin = ["run", "espbench/q3", "-e", "reference", "--repeats", "2", *SHORT]
    assert interrupt(begin, environment, runs, 2, first) == [1, 2]
    (path,) = runs.iterdir()
    folder = RunFolder(path)
    assert folder.record().status == "interrupted"
    (kept,) = folder.trials()
    resume = ["run", "--resume", "@0"]
    for phase in others:
        assert interrupt(resume, environment, runs, 2, phase) == [2], phase
        assert folder.record().status == "interrupted", phase
        assert folder.trials() == [kept], phase
    done = subprocess.run([*COMMAND, *resume, "--json"], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["status"] == "done"
    assert [trial["correct"] for trial in told["trials"]] == [True, True]
    assert folder.trials()[0] == kept


@pytest.mark.parametrize(
    ("arguments", "phase"),
    [
        (["espbench", "-x", "broker", *SHORT], "read back"),
        (["espbench/q3", "-e", "reference", "-x", "sustainable", "--quick"], "send backlog"),
    ],
)
def test_interrupted_in_a_phase_of_few_trials_it_says_how_to_go_on(
    environment: dict[str, str], tmp_path: Path, arguments: list[str], phase: str
) -> None:
    runs = tmp_path / "runs"
    assert interrupt(["run", *arguments], environment, runs, 1, phase) == [1]
    (path,) = runs.iterdir()
    assert RunFolder(path).record().status == "interrupted"
    assert interrupt(["run", "--resume", str(path)], environment, runs, 1, phase) == [1]


def test_ctrl_c_stops_the_embedded_services_too(
    environment: dict[str, str], tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    del environment["STREAMGAUGE_KAFKA"], environment["STREAMGAUGE_POSTGRES"]
    arguments = ["run", "espbench/q4", "-e", "reference", *SHORT]
    command = subprocess.Popen([*COMMAND, *arguments], env=environment)
    next(event for event in events(runs, command) if event.get("phase") == "warm-up")
    children = psutil.Process(command.pid).children(recursive=True)
    assert len(children) >= 4
    command.send_signal(signal.SIGINT)
    assert command.wait() == 130
    assert not [child for child in children if child.is_running()]


def test_a_killed_run_leaves_no_process_and_reads_as_interrupted(
    environment: dict[str, str], tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    del environment["STREAMGAUGE_KAFKA"]  # its own services must die with it
    arguments = ["run", "espbench/q3", "-e", "reference", *SHORT]
    command = subprocess.Popen([*COMMAND, *arguments], env=environment)
    next(event for event in events(runs, command) if event.get("phase") == "measure")
    children = psutil.Process(command.pid).children(recursive=True)
    assert len(children) >= 3
    command.kill()
    command.wait()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive
    (path,) = runs.iterdir()
    assert RunFolder(path).record().status == "interrupted"
