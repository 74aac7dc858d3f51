"""Whole runs with everything that can die or be interrupted."""

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from streamgauge import machine, runner
from streamgauge.measure.verdicts import exit_code
from streamgauge.services.choice import embedded
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.postgres.embedded import EmbeddedPostgres
from streamgauge.services.running import RunningService
from streamgauge.spec.run import RunSpec
from streamgauge.spec.values import Json
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from streamgauge.trial.watch import Clock
from streamgauge.validation.session import Session
from tests.integration.commands import SHORT, environment
from tests.integration.trials import COMMAND, PATIENT, Lent, make_spec, ours

pytestmark = [pytest.mark.integration, pytest.mark.spark]
__all__ = ["environment"]


def short_run(queries: tuple[str, ...] = ("q3",), **changes: Any) -> RunSpec:
    trial = make_spec("q3")
    fields: dict[str, Any] = {
        "workload": "espbench",
        "queries": queries,
        "parameters": trial.parameters,
        "engine": "reference",
        "rates": (500.0,),
        "duration_s": 1.0,
        "warmup_s": 0.5,
        "quick": True,
        "load": PATIENT,
    }
    return RunSpec(**{**fields, **changes})


ROLES = {
    "broker": "kafka.Kafka",
    "database": "bin/postgres",
    "sender": "streamgauge.load.sender",
    "engine": "streamgauge.engines.reference",
}


@pytest.fixture
def no_validator(validator: Session) -> None:
    """Make room for the Spark of a run in this process."""
    validator.stop()


@dataclass
class Killer:
    """Kills, in each trial, what the plan says in the phase that the plan says."""

    plan: list[tuple[str, str]]
    spared: set[int]
    """Processes that belong to other tests."""
    done: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, event: "dict[str, Json] | Any") -> None:
        number = int(event["trial"])
        if number > len(self.plan):
            return
        role, phase = self.plan[number - 1]
        if event.get("phase") == phase:
            victim, *_ = (p for p in ours(ROLES[role]) if p.pid not in self.spared)
            victim.send_signal(signal.SIGKILL)
            self.done.append((role, phase))


@pytest.mark.usefixtures("no_validator")
def test_what_dies_first_is_the_cause_and_the_other_trials_go_on(tmp_path: Path) -> None:
    plan = [
        ("broker", "measure"),
        ("database", "warm-up"),
        ("sender", "measure"),
        ("engine", "warm-up"),
        ("broker", "drain"),
        ("database", "drain"),
        ("engine", "drain"),
    ]
    before = {process.pid for process in ours("")}
    killer = Killer(plan, before)
    spec = short_run(repeats=len(plan) + 1)
    services = [embedded("kafka"), embedded("postgres")]
    folder = runner.start(spec, tmp_path, ["test"], killer, services)
    results = folder.trials()
    assert killer.done == plan
    for (role, phase), result in zip(plan, results, strict=False):
        assert result.status == ("failed" if role == "engine" else "invalid"), (role, phase)
        assert result.cause is not None
        assert f"{role} died" in result.cause, (role, phase)
        headline, _, tail = result.cause.partition("\n")
        assert "signal 9" in headline or "SIGKILL" in headline
        log = Path(headline.partition("; end of ")[2].removesuffix(":"))
        assert log.is_relative_to(folder.path), "the log that is named is there after the run"
        assert log.is_file()
        assert tail or role in {"sender", "engine"}, "services have told something by now"
        assert result.correct.holds is None
    assert results[-1].status == "done"
    assert results[-1].correct.holds is True
    assert exit_code(results) == 4
    assert {process.pid for process in ours("")} <= before


def test_a_database_that_dies_is_the_cause_though_its_engine_dies_of_it(
    bench: Bench, tmp_path: Path
) -> None:
    with EmbeddedPostgres().up() as database:

        def kill(event: Any) -> None:
            if event.get("phase") == "measure":
                for pid in database.processes():
                    os.kill(pid, signal.SIGKILL)

        own = replace(bench, services={**bench.services, "postgres": database})
        result = run_trial(make_spec("q5"), own, tmp_path / "001", kill)
    assert result.status == "invalid"
    assert "database died" in (result.cause or "")


def test_a_clock_that_is_stepped_makes_the_trial_invalid(bench: Bench, tmp_path: Path) -> None:
    stepped = {"s": 0.0}

    def step(event: Any) -> None:
        if event.get("phase") == "measure":
            stepped["s"] = 0.05

    own = replace(bench, clock=Clock(realtime=lambda: time.time() + stepped["s"]))
    result = run_trial(make_spec("q3"), own, tmp_path / "001", step)
    assert result.status == "invalid"
    assert "clock was stepped" in (result.cause or "")


def test_a_second_run_is_refused(environment: dict[str, str]) -> None:
    with machine.exclusive("the test"):
        done = subprocess.run(
            [*COMMAND, "run", "espbench/q3", "-e", "reference", *SHORT],
            env=environment,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 3
    assert "another measurement is running: the test" in done.stderr


def test_a_rate_beyond_the_sender_is_no_verdict_on_the_engine(
    environment: dict[str, str],
) -> None:
    arguments = ["run", "espbench/q3", "-e", "noop", "--warmup", "1s", "--duration", "2s"]
    small = ["-L", "buffer=4096", "-L", "batch=1024", "-L", "linger=500ms"]
    done = subprocess.run(
        [*COMMAND, *arguments, "--rate", "200k/s", *small, "-P", "ring=10000", "--json"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 4, done.stderr
    told = json.loads(done.stdout)
    (trial,) = told["trials"]
    assert told["status"] == "invalid"
    assert (trial["status"], trial["valid"]) == ("invalid", False)
    assert (trial["correct"], trial["kept_up"]) == (None, None)
    assert any("the sender sent" in reason for reason in trial["reasons"])


def test_wrong_answers_end_with_exit_code_1_and_keep_shows_them_again(
    environment: dict[str, str], tmp_path: Path
) -> None:
    arguments = ["run", "espbench/q3", "-e", "reference", "-E", "fault=drop:3", "--keep"]
    ran = subprocess.run([*COMMAND, *arguments, *SHORT, "--rate", "5k/s"], env=environment)
    assert ran.returncode == 1
    again = subprocess.run(
        [*COMMAND, "validate", "@0", "--json"], env=environment, capture_output=True
    )
    assert again.returncode == 1
    (counts,) = json.loads(again.stdout)["trials"]
    assert counts["missing"] == 1
    secret = (tmp_path / "password").read_text()
    for file in (tmp_path / "runs").rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes()


@pytest.mark.usefixtures("no_validator")
def test_a_full_disk_while_recording_ends_the_trial_not_the_run(
    kafka: RunningService[KafkaEndpoint], tmp_path: Path
) -> None:
    """A file that cannot be written to stands in the way of the latencies of trial 1."""

    def block(event: Any) -> None:
        if event.get("phase") == "validate" and event["trial"] == 1:
            (folder,) = tmp_path.glob("*/trials/001")
            (folder / "latency.parquet").symlink_to("/dev/full")

    spec = short_run(repeats=2)
    run = runner.start(spec, tmp_path, ["test"], block, [Lent("kafka", kafka)])
    first, second = run.trials()
    assert first.status == "invalid"
    assert "No space left on device" in (first.cause or "")
    assert second.status == "done"
