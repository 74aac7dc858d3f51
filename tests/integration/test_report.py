"""A whole run leaves a report that shows what was done to it."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.test_run import COMMAND, SHORT

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def test_a_run_leaves_its_report(tmp_path: Path) -> None:
    asked = ["run", "espbench/q4", "-e", "reference", *SHORT, "--runs-dir", str(tmp_path)]
    done = subprocess.run([*COMMAND, *asked], capture_output=True, text=True)
    assert done.returncode in (0, 4), done.stderr  # 4: too busy a machine to send in time
    (page,) = tmp_path.glob("*/report.html")
    assert f"report: {page}" in done.stderr
    text = page.read_text("utf-8")
    assert "A quick run, not a measurement." in text
    assert "gets a downtime at" in text
