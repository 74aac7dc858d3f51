"""`streamgauge validate`: check a finished run once more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.output import Json, print_json, print_line, progress
from streamgauge.cli.show import RunsDir
from streamgauge.errors import UsageError

EXAMPLES = """\b
Examples:
  streamgauge run espbench/q3 --keep    keep all records
  streamgauge validate @0               recompute every answer from them"""


def validate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run made with --keep.")],
    runs_dir: RunsDir = Path("runs"),
    as_json: Json = False,
) -> int:
    """Recompute all answers of a run from its kept records; the run stays as it is.

    Exit code 1 when an output is wrong, missing, repeated or unexpected.
    """
    from streamgauge import machine
    from streamgauge.results.folder import find
    from streamgauge.runner import validate_run

    folder = find(runs_dir, run)
    with machine.exclusive(f"validate {folder.name}"):
        found = validate_run(folder, lambda number: progress(f"validating trial {number}"))
    if not found:
        raise UsageError(f"{folder.name} has no finished trial to validate")
    if as_json:
        trials = [{"trial": number, **counts.model_dump()} for number, counts in found.items()]
        print_json({"run": folder.name, "trials": trials})
    for number, counts in found.items():
        if not as_json:
            line = ", ".join(f"{value:,} {name}" for name, value in counts.model_dump().items())
            print_line(f"trial {number:3}: {line}")
    right = (each.correct == each.expected == each.final for each in found.values())
    return 0 if all(right) else 1
