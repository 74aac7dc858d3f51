"""Printing: results on stdout, progress on stderr, plain lines when there is no terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from streamgauge.files import write_for_user

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[
    bool, typer.Option("--json", envvar="STREAMGAUGE_JSON", help="Print one JSON object instead.")
]

_TABLE_WIDTH = 200

State = Literal["ok", "warn", "missing"]
_STYLES: Mapping[State, str] = {"ok": "green", "warn": "yellow", "missing": "red"}


def print_json(value: Mapping[str, object]) -> None:
    """Print one JSON object as the result."""
    print_line(json.dumps(value, indent=2, ensure_ascii=False))


def print_line(text: str = "") -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{text}\n")


def write_output(file: Path, content: str | bytes) -> None:
    """Write a result to a file that the user named."""
    write_for_user(file, content, "choose another with --output")


def progress(text: str) -> None:
    """Print a line of progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def results_console() -> Console:
    """Return a console on stdout, wide enough for a table where its width is unknown."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _TABLE_WIDTH)
    return console


def print_states(rows: Sequence[tuple[State, str, str, str | None]]) -> None:
    """Print (state, name, value, remedy) rows, aligned, each remedy on a line of its own."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    width = max((len(name) for _, name, _, _ in rows), default=0)
    # Captured, since a Console exits with code 1 on a closed pipe, and 1 means wrong answers.
    with console.capture() as captured:
        for state, name, value, remedy in rows:
            console.print(Text(f"{state:<8}", _STYLES[state]), f"{name:<{width}}  {value}", sep="")
            if remedy:
                console.print(Text(f"{'':<{8 + width}}  → {remedy}", "dim"))
    sys.stdout.write(captured.get())
