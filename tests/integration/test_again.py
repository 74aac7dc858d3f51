"""A run is taken elsewhere, run again there, and compared with what it was."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow.compute as pc
import pytest

import streamgauge
from streamgauge.results.tables import measured_seconds
from streamgauge.workloads.espbench import Espbench

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.exclusive]

COMMAND = [sys.executable, "-m", "streamgauge"]


def test_a_packaged_run_is_run_again_and_compared(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    short = ["--repeats", "3", "--rate", "500/s", "--warmup", "1s", "--duration", "3s"]

    def command(*arguments: str, fine: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            [*COMMAND, *arguments, "--runs-dir", str(runs)], capture_output=True, text=True
        )
        assert done.returncode in fine, done.stderr
        return done.stdout

    # On a busy machine the driver may be late, which makes a trial invalid.
    command("run", "espbench/q1,q3", "-e", "reference", *short, fine=(0, 4))
    command("export", "@0", "--package", "--output", str(tmp_path / "package.zip"))
    with zipfile.ZipFile(tmp_path / "package.zip") as archive:
        archive.extractall(tmp_path)
    (preset,) = tmp_path.glob("*/preset.yaml")
    command("run", "--preset", str(preset), "--tag", "again=yes", fine=(0, 4))

    (compared,) = json.loads(command("compare", "@1", "@0", "--json"))["comparisons"]
    assert [pair["query"] for pair in compared["pairs"]] == ["q1", "q3"]
    for pair in compared["pairs"]:
        assert all("counts" in reason for reason in pair["because"])
        assert pair["changed"] == ["tag again: none → yes"]
        words = {each["metric"]: each["verdict"] for each in pair["metrics"]}
        if all(len(counted) == 3 for counted in pair["trials"].values()):
            assert words["latency.max"] in ("faster", "slower", "no difference")

    run = streamgauge.open("@0", runs=runs)
    assert run.record.workload_version == Espbench.version
    for result in run.results:
        assert result.window_ms == (1000 if result.spec.query == "q1" else None)
        own = run.latencies.filter(pc.equal(run.latencies["trial"], result.spec.number))
        counted = own.filter(own["measured"])
        assert pc.max(counted["latency"]).as_py() == result.metrics["latency.max"]
        assert len(measured_seconds(run.folder, result)) == len(counted)
