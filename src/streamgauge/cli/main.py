"""Run a command and turn any error into one message and an exit code."""

from __future__ import annotations

import io
import logging
import os
import platform
import re
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from streamgauge.errors import BUG_EXIT_CODE, Interrupted, StreamgaugeError
from streamgauge.process import asked_to_end, end_on_signals, end_undisturbed

if TYPE_CHECKING:
    from typer import TyperException

_USAGE_EXIT_CODE = 2


def main() -> NoReturn:
    """Run the `streamgauge` command."""
    end_on_signals()
    _leave_ctrl_c_to_us()
    _write_any_text()
    code = execute(sys.argv[1:])
    end_undisturbed()
    _flush()
    sys.exit(code)


def execute(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error ends here."""
    try:
        from streamgauge.cli.app import app  # slow enough for Ctrl-C to come in between

        result = app(args=list(arguments), prog_name="streamgauge", standalone_mode=False)
    except KeyboardInterrupt:
        return _interrupted()
    except SystemExit:  # Typer's own answer to a closed pipe
        return _closed_pipe()
    except Exception as error:
        # A library that is interrupted may fail in its own way.
        surprise = asked_to_end() and not isinstance(error, Interrupted)
        return _interrupted() if surprise else _explain(error, arguments)
    if result == Interrupted.exit_code:  # Typer's own answer to Ctrl-C
        return _interrupted()
    return result if isinstance(result, int) else 0


def _explain(error: Exception, arguments: Sequence[str]) -> int:
    """Say what went wrong; an exception that is not one of ours is a bug."""
    if isinstance(error, StreamgaugeError):
        _report(error.message, error.remedy, "" if isinstance(error, Interrupted) else "error: ")
        return error.exit_code
    import typer  # not before Ctrl-C is handled

    if isinstance(error, typer.Abort):
        return _interrupted()
    if isinstance(error, typer.TyperException):
        _report(_message(error), f"See streamgauge {_command(arguments)}--help.")
        return _USAGE_EXIT_CODE
    _report_bug()
    return BUG_EXIT_CODE


def _leave_ctrl_c_to_us() -> None:
    """Suppress the tracebacks of Ctrl-C that py4j logs, and that Python prints where it is lost."""
    logging.getLogger().addFilter(lambda _: not asked_to_end())
    sys.unraisablehook = lambda lost: None if asked_to_end() else sys.__unraisablehook__(lost)


def _write_any_text() -> None:
    """Replace characters that the terminal's encoding lacks, instead of failing on them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _interrupted() -> int:
    sys.stderr.write("interrupted\n")
    return Interrupted.exit_code


def _report(message: str, remedy: str | None, lead: str = "error: ") -> None:
    sys.stderr.write(f"{lead}{message}\n")
    if remedy:
        sys.stderr.write(f"  {remedy}\n")


def _message(error: TyperException) -> str:
    """Write Typer's message in our style: one line, lower-case first letter, no full stop."""
    text = " ".join(error.format_message().split()).removesuffix(".")
    text = re.sub(r"Input should be a valid (\w+).*", _must_be, text)
    return f"{text[:1].lower()}{text[1:]}"


def _must_be(found: re.Match[str]) -> str:
    kind = {"integer": "a whole number", "number": "a number"}.get(found[1], f"a {found[1]}")
    return f"it must be {kind}"


def _command(arguments: Sequence[str]) -> str:
    """Name the command whose help the user needs."""
    from streamgauge.cli.app import app

    known = {each.name for each in app.registered_commands}
    known |= {each.name for each in app.registered_groups}
    first = next((each for each in arguments if not each.startswith("-")), None)
    return f"{first} " if first in known else ""


def _report_bug() -> None:
    traceback.print_exc(file=sys.stderr)
    from importlib.metadata import version

    sys.stderr.write(
        "\nerror: this is a bug in Streamgauge, not a mistake of yours\n"
        "  Please report it with the lines above and what you typed: streamgauge"
        f" {version('streamgauge')}, Python {platform.python_version()}, {platform.platform()}.\n"
    )


def _closed_pipe() -> int:
    """End quietly when the reader is gone, as `streamgauge list | head -1` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _closed_pipe()
