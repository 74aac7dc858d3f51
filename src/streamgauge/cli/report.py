"""`streamgauge report`: runs as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import Json, print_json, print_line, progress
from streamgauge.cli.show import RunsDir

if TYPE_CHECKING:
    from streamgauge.results.folder import RunFolder

EXAMPLES = """\b
Examples:
  streamgauge report @0                     write report.html into the folder of the latest run
  streamgauge report @1 @0 -o both.html     two runs on one page
  streamgauge report @1 @0 --over resources capacities that searches found, in one chart
  streamgauge report @2 @1 @0 --over rate   a metric over the rate, a line for each query"""


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="See `streamgauge runs`.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="File to write [default: report.html in the run's folder, or, for several runs,"
            " next to the folder of the first].",
        ),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="FACTOR",
            help="Show one metric instead, over rate, partitions, mode, engine, transport, cores or"
            " date; or what searches for demand or capacity found, over load or resources.",
            envvar="STREAMGAUGE_OVER",
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(help="The metric that --over shows.", envvar="STREAMGAUGE_METRIC"),
    ] = "latency.p90",
    runs_dir: RunsDir = Path("runs"),
    as_json: Json = False,
) -> None:
    """Write a page with charts: one file that opens anywhere, without a network."""
    from streamgauge.report.page.report import write_page
    from streamgauge.report.page.sweep import write_sweep
    from streamgauge.report.scaling.several import OVER, write_curves
    from streamgauge.results.folder import find

    folders = [find(runs_dir, name) for name in runs]
    first = folders[0].path
    place = first if len(folders) == 1 else first.parent
    named = f"{OVER.get(over, metric)}-over-{over}.html" if over else "report.html"
    file = output or place / named
    if over is None:
        write_page(folders, file)
    elif over in OVER:
        write_curves(folders, over, file)
    else:
        write_sweep(folders, metric, over, file)
    if as_json:
        print_json({"report": str(file)})
    else:
        print_line(str(file))


def leave_report(folder: RunFolder) -> None:
    """Write the report of a finished run; its results are valid even if this fails."""
    from streamgauge.errors import StreamgaugeError
    from streamgauge.report.page.report import write_report

    try:
        file = write_report(folder)
    except StreamgaugeError as error:
        progress(f"no report: {error.message}")
    else:
        progress(f"report: {file}")
