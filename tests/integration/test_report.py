"""A whole run leaves a report that shows what was done to it."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.test_run import COMMAND, SHORT

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.exclusive]


PATIENT = ["-L", "max_lateness=30s", "-L", "min_sent=0.5"]


def test_a_run_leaves_its_report(tmp_path: Path) -> None:
    asked = ["run", "espbench/q4", "-e", "reference", *SHORT, *PATIENT, "--runs-dir", str(tmp_path)]
    done = subprocess.run([*COMMAND, *asked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (page,) = tmp_path.glob("*/report.html")
    assert f"report: {page}" in done.stderr
    text = page.read_text("utf-8")
    assert "A quick run, not a measurement. The trial is valid and gave the right answers." in text
    assert "gets a downtime at" in text
