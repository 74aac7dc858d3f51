"""The command tree. A new command is a function in a file of its own, registered here."""

from __future__ import annotations

from typing import Annotated

import typer

from streamgauge.cli import (
    compare,
    doctor,
    export,
    listing,
    report,
    run,
    services,
    show,
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
Options have environment twins: STREAMGAUGE_JSON=1 is --json.
Results go to stdout, progress to stderr. Exit codes: 0 done; 1 wrong answers, not kept
up, or an objective missed; 2 usage; 3 environment not ready; 4 trial failed or
measurement invalid; 70 our bug; 130 interrupted."""

# Help is plain text: the same in a terminal, a pipe and a bug report, and twice as fast.
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
services_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def _print_version(wanted: bool) -> None:
    if wanted:
        from streamgauge import __version__

        typer.echo(f"streamgauge {__version__}")
        raise typer.Exit


@app.callback(epilog=_EPILOG)
def root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Measure stream processors: published workloads, honest latency, answers that are checked."""


@services_app.callback()
def services_root() -> None:
    """Start, stop and show services to develop against: a broker, a database."""


app.command("run", epilog=run.EXAMPLES)(run.run)
app.command("list", epilog=listing.EXAMPLES)(listing.list_items)
app.command("show", epilog=show.SHOW_EXAMPLES)(show.show)
app.command("runs", epilog=show.RUNS_EXAMPLES)(show.runs)
app.command("watch", epilog=watch.EXAMPLES)(watch.watch)
app.command("report", epilog=report.EXAMPLES)(report.report)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.command("export", epilog=export.EXAMPLES)(export.export)
app.command("validate", epilog=validate.EXAMPLES)(validate.validate)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
app.add_typer(services_app, name="services")
services_app.command("up", epilog=services.UP_EXAMPLES)(services.up)
services_app.command("down", epilog=services.DOWN_EXAMPLES)(services.down)
services_app.command("status")(services.status)
