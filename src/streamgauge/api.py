"""The Python API: run a workload, open what a run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamgauge import runner
from streamgauge.planning import Asked, plan_run
from streamgauge.report.html import write_report
from streamgauge.results.folder import RunFolder, find
from streamgauge.services import choose

RUNS = Path("runs")


def run(target: str, *, runs: Path = RUNS, **options: Any) -> RunFolder:
    """Run a workload, write its report and return its folder.

    Args:
        target: `WORKLOAD` or `WORKLOAD/QUERY,QUERY…`.
        runs: Folder of all runs.
        options: What the command line takes, by the names of a preset's fields:
            `rates=["10k/s"]`, `duration="1m"`, `engine="reference"`, `quick=True`.
    """
    spec = plan_run(target, {name: Asked(value) for name, value in options.items()})
    command = ["python", "-c", f"streamgauge.run({target!r}, …)"]
    folder = runner.start(spec, runs, command, lambda _: None, choose(spec))
    write_report(folder)
    return folder


def open(name: str, *, runs: Path = RUNS) -> RunFolder:
    """Open a run by path, id prefix, tag or age (`@0` is the latest)."""
    return find(runs, name)
