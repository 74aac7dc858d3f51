"""What our own engines accept and refuse before they start."""

from dataclasses import replace

import pytest

from streamgauge.engines.command import CommandEngine
from streamgauge.engines.consuming import Reporter
from streamgauge.engines.noop import NoopEngine
from streamgauge.engines.reference import ReferenceEngine
from streamgauge.errors import NotReady, UsageError
from streamgauge.jobfile import JobSpec
from streamgauge.spec.engine import Engine
from streamgauge.spec.values import Json

JOB = JobSpec(workload="espbench", query="q3", parameters={}, partitions=1, seed=1, options={})
COMMAND = {"command": "sh -c 'echo 1'"}


@pytest.mark.parametrize("engine", [NoopEngine(), ReferenceEngine()])
def test_a_plain_job_is_resolved(engine: Engine) -> None:
    assert engine.check() == []
    assert engine.resolve(JOB).mode == "plain"


@pytest.mark.parametrize("engine", [NoopEngine(), ReferenceEngine(), CommandEngine()])
def test_unknown_options_modes_and_triggers_are_refused(engine: Engine) -> None:
    with pytest.raises(UsageError, match=f"unknown option of engine {engine.name} 'speed'"):
        engine.resolve(replace(JOB, options={"speed": "9"}))
    with pytest.raises(UsageError, match="no mode 'realtime'"):
        engine.resolve(replace(JOB, mode="realtime"))
    with pytest.raises(UsageError, match="no trigger"):
        engine.resolve(replace(JOB, trigger_s=1.0))


def test_the_reference_engine_knows_its_faults() -> None:
    engine = ReferenceEngine()
    assert engine.resolve(replace(JOB, options={"fault": "drop:4"})).settings == {"fault": "drop:4"}
    with pytest.raises(UsageError, match="unknown fault 'drip'") as caught:
        engine.resolve(replace(JOB, options={"fault": "drip"}))
    assert "Did you mean drop?" in (caught.value.remedy or "")


def test_a_command_is_found_and_kept() -> None:
    resolved = CommandEngine().resolve(replace(JOB, options=COMMAND))
    assert resolved.settings == COMMAND


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, UsageError, "no command is given"),
        ({"command": " "}, UsageError, "no command is given"),
        ({"command": "python 'x"}, UsageError, "No closing quotation"),
        ({"command": "no-such-program-anywhere"}, NotReady, "there is no program"),
    ],
)
def test_a_command_that_cannot_run_is_refused(
    options: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        CommandEngine().resolve(replace(JOB, options=options))


class Written:
    def __init__(self) -> None:
        self.reports: list[bool] = []

    def report(self, finished: object, idle: bool, **_: Json) -> None:
        self.reports.append(idle)


def test_progress_is_reported_each_second_and_soon_after_the_work_is_done() -> None:
    now = [0.0]
    reporter = Reporter(Written(), clock=lambda: now[0])
    assert reporter.due(idle=False)
    reporter.report({}, idle=False)
    now[0] = 0.5
    assert not reporter.due(idle=False)
    assert reporter.due(idle=True)
    reporter.report({}, idle=True)
    now[0] = 1.4
    assert not reporter.due(idle=True)
    now[0] = 1.5
    assert reporter.due(idle=True)
