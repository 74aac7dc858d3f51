"""Trials in which records close windows: gaps in the load, and a backlog."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from tests.integration.trials import make_spec, ours

pytestmark = [pytest.mark.integration, pytest.mark.spark]

STALL_S = 2.2


def test_a_broker_that_stalls_leaves_windows_open_and_the_load_invalid(
    bench: Bench, tmp_path: Path
) -> None:
    """All that can be answered is right, and the seconds that nothing closed are counted."""
    with EmbeddedKafka().up() as broker:

        def stall(event: Any) -> None:
            if event.get("phase") == "measure":
                for number in (signal.SIGSTOP, signal.SIGCONT):
                    for pid in broker.processes():
                        os.kill(pid, number)
                    time.sleep(STALL_S if number == signal.SIGSTOP else 0)

        own = replace(bench, services={**bench.services, "kafka": broker})
        spec = make_spec("q1", engine="spark", duration_s=6.0, quick=False)
        assert spec.mode == "realtime"
        result = run_trial(spec, own, tmp_path / "001", stall)
    assert result.status == "invalid", result.valid.reason
    assert "the load had gaps" in result.valid.reason
    assert 1 <= result.valid.evidence["unclosed"] < 6, "not every second of the load"
    assert result.correct.holds is True, result.correct.reason
    assert [text for text in result.warnings if "may lack their output" in text]


def test_a_backlog_is_closed_by_markers_too(bench: Bench, tmp_path: Path) -> None:
    spec = make_spec("q1", engine="spark", backlog=True, warmup_s=0.0, tail_s=0.0, partitions=2)
    assert spec.mode == "realtime"
    result = run_trial(spec, bench, tmp_path / "001", lambda _: None)
    assert result.correct.holds is True, result.correct.reason
    assert result.counts.expected >= 3, "the seconds of the load, and those of the markers"
    assert result.metrics["rate.catch_up"] > 0


def test_an_engine_that_is_killed_while_markers_go_on_fails_the_trial(
    bench: Bench, tmp_path: Path
) -> None:
    def kill(event: Any) -> None:
        if event.get("phase") == "consume":
            (engine,) = (each for each in ours("streamgauge.engines.spark.job") if each.children())
            engine.send_signal(signal.SIGKILL)

    result = run_trial(make_spec("q1", engine="spark"), bench, tmp_path / "001", kill)
    assert result.status == "failed"
    assert "the engine died" in (result.cause or "")
    assert not ours("streamgauge.load.sender")
