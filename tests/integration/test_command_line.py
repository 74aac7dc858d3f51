"""The commands as a user types them, with the real services."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.process import Seen

pytestmark = pytest.mark.integration


@pytest.fixture
def own_runtime(tmp_path, monkeypatch):
    """Keep away from services that the developer has up."""
    monkeypatch.setenv("STREAMGAUGE_RUNTIME_DIR", str(tmp_path / "run"))
    yield
    streamgauge("services", "down")


def streamgauge(*arguments):
    command = [sys.executable, "-m", "streamgauge", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.usefixtures("own_runtime")
def test_services_up_status_down():
    up = streamgauge("services", "up")
    assert up.returncode == 0, up.stderr
    lines = [shlex.split(line)[1].partition("=") for line in up.stdout.splitlines()]
    variables = {name: value for name, _, value in lines}
    secret = Path(variables["STREAMGAUGE_POSTGRES_PASSWORD_FILE"])
    assert secret.stat().st_mode & 0o777 == 0o600
    assert secret.read_text() not in up.stdout + up.stderr

    status = json.loads(streamgauge("services", "status", "--json").stdout)
    assert status["kafka"]["address"] == variables["STREAMGAUGE_KAFKA"]
    again = streamgauge("services", "up", "kafka")
    assert variables["STREAMGAUGE_KAFKA"] in again.stdout

    down = streamgauge("services", "down")
    assert down.stdout == "stopped: kafka, postgres, redis, spark\n"
    assert not secret.exists()
    pids = [pid for service in status.values() for pid in service["pids"]]
    assert len(pids) >= 2
    assert not any(Seen.of(pid) for pid in pids)
    assert streamgauge("services", "down").stdout == "nothing was up\n"


@pytest.mark.usefixtures("own_runtime")
def test_doctor_starts_and_stops_what_it_looks_at():
    done = streamgauge("doctor", "--json")
    report = json.loads(done.stdout)
    found = {finding["name"]: finding for finding in report["findings"]}
    assert (done.returncode, report["ready"]) == (0, True), report
    assert "stopped again" in found["kafka"]["value"]
    assert "stopped again" in found["postgres"]["value"]
    assert streamgauge("services", "down").stdout == "nothing was up\n"
