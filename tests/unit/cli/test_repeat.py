import shlex
from typing import Any

import pytest

from streamgauge import runner
from streamgauge.cli.main import execute
from streamgauge.errors import NotReady
from streamgauge.spec.run import RunSpec


class Started:
    """What a run is started with, instead of starting it."""

    spec: RunSpec
    command: list[str]

    def start(self, spec: RunSpec, _runs: object, command: list[str], *_: object) -> Any:
        self.spec, self.command = spec, command
        raise NotReady("nothing is started here")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    seen = Started()
    monkeypatch.setattr(runner, "start", seen.start)
    return seen


def run(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr("sys.argv", ["streamgauge", *arguments])
    assert execute(arguments) == 3


def test_variables_that_were_heeded_stand_before_the_command(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {
        "STREAMGAUGE_ENGINE": "noop",
        "STREAMGAUGE_RATE": "10k/s",
        "STREAMGAUGE_OBJECTIVE": "latency.p99<2s latency.p50<1s",
        "STREAMGAUGE_DURATION": "1m",
        "STREAMGAUGE_POSTGRES_PASSWORD": "s3cret",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    run(monkeypatch, ["run", "espbench/q3", "--duration", "30s"])
    line = " ".join(started.command)
    assert line == (
        "STREAMGAUGE_ENGINE=noop STREAMGAUGE_RATE=10k/s"
        " STREAMGAUGE_OBJECTIVE='latency.p99<2s latency.p50<1s'"
        " streamgauge run espbench/q3 --duration 30s"
    )
    once, spec = started.command, started.spec
    for name in variables:
        monkeypatch.delenv(name)
    words = shlex.split(line)
    for word in words[:3]:
        monkeypatch.setenv(*word.split("=", 1))
    run(monkeypatch, words[4:])
    assert (started.command, started.spec) == (once, spec)


@pytest.mark.parametrize(
    ("address", "command"),
    [
        (
            "postgresql://me:s3c@ret@db:5433/bench?password=s3cret",
            "streamgauge run espbench/q5 --service=postgres=postgresql://db:5433/bench",
        ),
        (
            "postgresql://db:5433/bench?password=s3cret",
            "STREAMGAUGE_POSTGRES=postgresql://db:5433/bench streamgauge run espbench/q5",
        ),
    ],
)
def test_an_address_of_the_environment_is_repeated_without_its_secrets(
    started: Started, monkeypatch: pytest.MonkeyPatch, address: str, command: str
) -> None:
    monkeypatch.setenv("STREAMGAUGE_POSTGRES", address)
    run(monkeypatch, ["run", "espbench/q5"])
    assert " ".join(started.command) == command
    planned = started.spec
    words = shlex.split(command)
    run(monkeypatch, words[words.index("streamgauge") + 1 :])
    again = started.spec
    assert (again.services, again.accounts) == (planned.services, planned.accounts)


def test_an_address_that_the_run_does_not_need_is_not_repeated(
    started: Started, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STREAMGAUGE_POSTGRES", "postgresql://db:5433/bench?password=s3cret")
    run(monkeypatch, ["run", "espbench/q3"])
    assert " ".join(started.command) == "streamgauge run espbench/q3"
    assert started.spec.services == {}
    said = " ".join(capsys.readouterr().err.split())
    assert "postgres at postgresql://db:5433/bench is given, but nothing here needs it" in said
    assert "s3cret" not in said
