"""A program of the user's reports its batches as the documentation says, and they are drawn."""

import json
import re
import shlex
import sys
import time
from pathlib import Path

from streamgauge.engines.command import CommandEngine
from streamgauge.jobfile import PROGRESS, JobSpec
from streamgauge.report.charts.data.trial import view_trial
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.spec.endpoints import Endpoints
from streamgauge.spec.jobs import Resources
from tests.unit.report.conftest import RunMaker

DOCS = Path(__file__).parents[4] / "docs" / "engines" / "command.md"
PROGRAM = """
import json, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
documented, began_ms, job = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with open(json.load(open(job))["progress"], "a") as file:
    for number in range(5):
        at_ms = began_ms + 1000 * number
        batch = {**documented["batch"], "began_ms": at_ms}
        line = {**documented, "at": at_ms / 1000 + 0.3, "batch": batch, "gc_ms": 40 * number}
        file.write(json.dumps(line) + "\\n")
time.sleep(60)
"""
ENDPOINTS = Endpoints(
    transport="kafka",
    via=KafkaEndpoint("127.0.0.1:1"),
    inputs={"sensor1": "t-1"},
    output="t-out",
    partitions=2,
    group="group",
)


def documented_line() -> str:
    found = re.search(r"```json\n(.*?)```", DOCS.read_text(), re.S)
    assert found is not None
    return json.dumps(json.loads(found[1]))


def test_batches_of_a_program_are_drawn_like_those_of_any_engine(
    make: RunMaker, tmp_path: Path
) -> None:
    folder = make(trials=1, spec={"engine": "command"})
    (result,) = folder.trials()
    assert result.measured_ms is not None
    begin_ms = result.measured_ms[0]
    command = [sys.executable, "-c", PROGRAM, documented_line(), str(begin_ms + 250)]
    options = {"command": shlex.join(command)}
    job = JobSpec(
        workload="espbench", query="q1", parameters={}, partitions=2, seed=1, options=options
    )
    with CommandEngine().start(job, ENDPOINTS, Resources((0,)), tmp_path) as running:
        while (progress := running.progress()) is None:
            assert running.failure() is None, running.failure()
            time.sleep(0.01)
    assert progress.finished == {("sensor1", 0): 1200, ("sensor1", 1): 1180}
    (tmp_path / PROGRESS).rename(folder.trial_folder(1) / PROGRESS)
    view = view_trial(folder, result.model_copy(update={"trigger_s": 1.0}), 100, most_marks=100)
    assert view.charts["batches"] == {
        "t": [0, 1, 2, 3, 4],
        "compute": [170.0] * 5,
        "read": [40.0] * 5,
    }
    assert view.charts["boundaries"] == {"t": [0.25, 1.25, 2.25, 3.25, 4.25]}
    assert view.said["batches"] == "5 batches, the median took 230 ms."
    assert {"gc", "delay"} <= set(view.charts)
