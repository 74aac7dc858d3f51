"""Whole trials with loads of another shape, and with several senders."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from streamgauge.load import arrivals
from streamgauge.spec.trial import TrialSpec
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from tests.integration.trials import PATIENT, make_spec, ours

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def shaped() -> TrialSpec:
    load = PATIENT.model_copy(update={"senders": 3, "source": "stream"})
    schedule = "steps:1k/s@1s,0/s@500ms,4001/s@1500ms"
    return make_spec("q3", shape=schedule, partitions=2, load=load)


def test_a_shaped_load_of_several_senders_is_checked_like_any_other(
    bench: Bench, tmp_path: Path
) -> None:
    result = run_trial(shaped(), bench, tmp_path / "001", lambda _: None)
    assert result.status == "done", result.cause
    assert result.correct.holds is True, result.correct.reason
    assert result.inputs == arrivals.records(result.spec) + 2 * result.spec.partitions
    assert result.sender["senders"] == 3
    assert not (tmp_path / "001" / "payloads").exists()


def test_one_killed_sender_of_several_makes_the_trial_invalid_and_ends_the_others(
    bench: Bench, tmp_path: Path
) -> None:
    def kill(event: Any) -> None:
        if event.get("phase") == "measure":
            os.kill(ours("sender-2.json")[0].pid, signal.SIGKILL)

    result = run_trial(shaped(), bench, tmp_path / "001", kill)
    assert result.status == "invalid"
    assert "the sender died" in (result.cause or "")
    assert result.kept_up.holds is None
    assert ours("streamgauge.load.sender") == []
