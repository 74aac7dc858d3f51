"""`streamgauge doctor`: is this machine ready, and how steady is it?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.output import Json, print_json, print_line, print_states, progress
from streamgauge.cli.show import RunsDir
from streamgauge.errors import NotReady

EXAMPLES = """\b
Examples:
  streamgauge doctor
  streamgauge doctor --no-start     only check: fetch and start nothing
  streamgauge doctor --json

Exit code 3 when something required is missing; a "warn" may spoil numbers."""


def doctor(
    no_start: Annotated[
        bool,
        typer.Option(
            "--no-start",
            envvar="STREAMGAUGE_NO_START",
            help="Only check: fetch no jars, start and stop no service.",
        ),
    ] = False,
    runs_dir: RunsDir = Path("runs"),
    as_json: Json = False,
) -> int:
    """Check this machine: what a run needs, what would spoil it, and what to do about it."""
    from streamgauge.doctor import examine

    findings = examine(runs_dir, start=not no_start, progress=progress)
    ready = all(finding.state != "missing" for finding in findings)
    if as_json:
        print_json({"ready": ready, "findings": [asdict(finding) for finding in findings]})
    else:
        print_states([(each.state, each.name, each.value, each.remedy) for each in findings])
        print_line("Ready." if ready else "Not ready: see what is missing above.")
    return 0 if ready else NotReady.exit_code
