"""The package as others install it: nothing of this checkout but the wheel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.spark]

ROOT = Path(__file__).parents[2]


def uv(*arguments: str | Path) -> None:
    """Run uv, without what would lead Python back to this checkout."""
    found = subprocess.run(
        [ROOT / "scripts" / "find-uv"],
        env={**os.environ, "PYTHON": sys.executable},
        check=True,
        capture_output=True,
        text=True,
    )
    program = ROOT / found.stdout.strip()
    environment = {"UV_SYSTEM_CERTS": "true", **os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    done = subprocess.run(
        [program, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_wheel_works_alone(tmp_path: Path) -> None:
    """Versions are those of the lock; which packages are needed only the wheel says."""
    uv("build", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    lock = (ROOT / "requirements.lock").read_text().splitlines()
    versions = [line.removesuffix(" \\") for line in lock if not line.startswith(" ")]
    constraints = tmp_path / "versions.txt"
    constraints.write_text("\n".join(versions))
    uv("venv", "--python", sys.executable, tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    uv("pip", "install", "--python", python, "--constraint", constraints, wheel)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    short = ["--quick", "--warmup", "1s", "--duration", "2s", "--json"]
    done = subprocess.run(
        [python.with_name("streamgauge"), "run", "espbench/q3", "-e", "reference", *short],
        cwd=elsewhere,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    assert (trial["status"], trial["correct"]) == ("done", True)
    assert list(elsewhere.glob("runs/*/report.html"))
