"""What a real trial tells while it goes on."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from streamgauge.results.events import phases_of
from streamgauge.trial.bench import Bench
from streamgauge.trial.run import run_trial
from tests.integration.trials import make_spec

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def test_a_trial_tells_its_phases_and_each_sample_once(bench: Bench, tmp_path: Path) -> None:
    told: list[Any] = []
    spec = make_spec("q3")
    run_trial(spec, bench, tmp_path / "001", told.append)
    phases = [event for event in told if "phase" in event]
    assert tuple(event["phase"] for event in phases) == phases_of(spec)
    lasting = {event["phase"]: event["lasts_s"] for event in phases if event["lasts_s"]}
    assert lasting == {"warm-up": 1.0, "measure": 3.0, "run on": 0.5}
    times = [event["at"] for event in told if "log_end" in event]
    assert len(times) >= 4
    assert all(before < after for before, after in pairwise(times))
    load = [event for event in told if event.get("sent")]
    assert all({"due", "cpu.engine", "cpu.sender", "newest_latency"} <= set(each) for each in load)
