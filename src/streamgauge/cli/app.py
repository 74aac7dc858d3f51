"""The command tree. A new command is a function in a file of its own, registered here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from streamgauge.cli import (
    compare,
    doctor,
    export,
    listing,
    profile,
    report,
    run,
    services,
    show,
    tasks,
    validate,
    watch,
)

_EPILOG = """\b
Examples:
  streamgauge run espbench --quick  the whole benchmark, smallest sizes
  streamgauge doctor                is this machine ready, and how steady is it?
  streamgauge list                  workloads, engines, experiments, services, presets
  streamgauge services up kafka     a broker to develop against

\b
Options can also be set by environment variables: STREAMGAUGE_JSON=1 is --json.
Results go to stdout, progress to stderr. Exit codes: 0 done; 1 wrong answers, not kept
up, or an objective missed; 2 usage; 3 environment not ready; 4 trial failed or
measurement invalid; 70 a bug in Streamgauge; 130 interrupted."""

# Help is plain text: the same in a terminal, a pipe and a bug report, and twice as fast.
app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
services_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


def _print_version(wanted: bool) -> None:
    if wanted:
        from streamgauge import __version__

        typer.echo(f"streamgauge {__version__}")
        raise typer.Exit


@app.callback(epilog=_EPILOG)
def root(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Measure stream processors: published workloads, honest latency, answers that are checked."""
    _help_without_command(context)


@services_app.callback()
def services_root(context: typer.Context) -> None:
    """Start, stop and show services to develop against: a broker, a database."""
    _help_without_command(context)


def _help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _add(
    to: typer.Typer, name: str, command: Callable[..., Any], epilog: str | None = None
) -> None:
    """Register a command; the list of commands shows the first line of its docstring, uncut."""
    summary = (inspect.getdoc(command) or "").partition("\n")[0]
    to.command(name, epilog=epilog, short_help=summary)(command)


_add(app, "run", run.run, run.EXAMPLES)
_add(app, "list", listing.list_items, listing.EXAMPLES)
_add(app, "show", show.show, show.SHOW_EXAMPLES)
_add(app, "runs", show.runs, show.RUNS_EXAMPLES)
_add(app, "watch", watch.watch, watch.EXAMPLES)
_add(app, "report", report.report, report.EXAMPLES)
_add(app, "compare", compare.compare, compare.EXAMPLES)
_add(app, "tasks", tasks.tasks, tasks.EXAMPLES)
_add(app, "profile", profile.profile, profile.EXAMPLES)
_add(app, "export", export.export, export.EXAMPLES)
_add(app, "validate", validate.validate, validate.EXAMPLES)
_add(app, "doctor", doctor.doctor, doctor.EXAMPLES)
app.add_typer(
    services_app, name="services", short_help="Start, stop and show services to develop against."
)
_add(services_app, "up", services.up, services.UP_EXAMPLES)
_add(services_app, "down", services.down, services.DOWN_EXAMPLES)
_add(services_app, "status", services.status)
