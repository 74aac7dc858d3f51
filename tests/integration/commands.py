"""Commands of users on the services of the tests, and what their runs tell meanwhile."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamgauge.services.running import RunningService

SHORT = ["--quick", "--warmup", "500ms", "--duration", "1s", "--rate", "500/s"]


@pytest.fixture
def environment(services: dict[str, RunningService[Any]], tmp_path: Path) -> dict[str, str]:
    """Let commands use the services of the tests, and a runs folder of their own."""
    password = tmp_path / "password"
    password.write_text(services["postgres"].endpoint.password)
    postgres = services["postgres"].endpoint
    return {
        **os.environ,
        "STREAMGAUGE_KAFKA": services["kafka"].endpoint.bootstrap,
        "STREAMGAUGE_POSTGRES": (
            f"postgresql://{postgres.user}@{postgres.host}:{postgres.port}/{postgres.database}"
        ),
        "STREAMGAUGE_POSTGRES_PASSWORD_FILE": str(password),
        "STREAMGAUGE_RUNS_DIR": str(tmp_path / "runs"),
    }


def events(
    runs: Path, command: "subprocess.Popen[bytes]", seen: int = 0
) -> Iterator[dict[str, Any]]:
    """Follow what the only run in a folder tells, after so many lines."""
    while command.poll() is None:
        files = list(runs.glob("*/live.jsonl"))
        text = files[0].read_text() if files else ""
        lines = text[: text.rfind("\n") + 1].splitlines()  # the last may be half written
        for line in lines[seen:]:
            yield json.loads(line)
        seen = len(lines)
        time.sleep(0.02)  # leave the processor to the run that is waited for
