"""`streamgauge compare`: is the change real?"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from streamgauge.cli.output import Json, results_console, write_output
from streamgauge.cli.show import RunsDir
from streamgauge.errors import UsageError

if TYPE_CHECKING:
    from streamgauge.comparison.compare import Comparison
    from streamgauge.comparison.limits import Checked
    from streamgauge.results.folder import RunFolder

EXAMPLES = """\b
Examples:
  streamgauge compare @1 @0                           the latest run with the one before
  streamgauge compare branch=main branch=tune --format markdown
  streamgauge compare @2 @1 @0 --format html --output compared.html
  streamgauge compare @1 @0 --fail-on 'latency.p99:+5%' --fail-on 'cpu.engine:+10%'"""

Format = Literal["text", "markdown", "json", "html"]


def compare(
    base: Annotated[str, typer.Argument(metavar="BASE", help="A run to compare with.")],
    others: Annotated[list[str], typer.Argument(metavar="OTHER…", help="One or more other runs.")],
    format: Annotated[
        Format, typer.Option(help="Output format.", envvar="STREAMGAUGE_COMPARE_FORMAT")
    ] = "text",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="File to write to [default: stdout].",
            envvar="STREAMGAUGE_COMPARE_OUTPUT",
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="METRIC:±N%",
            help="Exit code 1 when the whole interval is beyond this limit: 'latency.p99:+5%'.",
            envvar="STREAMGAUGE_FAIL_ON",
        ),
    ] = None,
    runs_dir: RunsDir = Path("runs"),
    as_json: Json = False,
) -> int:
    """Compare runs: the ratio of each metric with its interval, and a verdict in words.

    Repeat trials (run --repeats 3 or more): fewer than three on a side give no verdict. With
    --fail-on the exit code is 1 when a limit is exceeded, 4 when runs are not comparable or have
    too few trials, and 0 otherwise.
    """
    from streamgauge.comparison.limits import check_limits, exit_code, parse_limit
    from streamgauge.comparison.runs import compare_runs
    from streamgauge.results.folder import find

    limits = [parse_limit(text) for text in fail_on or ()]
    folders = [find(runs_dir, name) for name in (base, *others)]
    comparisons = compare_runs(*folders)
    checked = check_limits(limits, comparisons)
    further = [limit.metric for limit in limits]
    if format == "html" and output is None and sys.stdout.isatty():
        raise UsageError("a page cannot be shown in a terminal", "Name a file with --output.")
    text = _written("json" if as_json else format, folders, comparisons, checked, further)
    if output is None:
        sys.stdout.write(text)
    else:
        write_output(output, text)
    return exit_code(checked)


def _written(
    format: Format,
    folders: Sequence[RunFolder],
    comparisons: Sequence[Comparison],
    checked: Sequence[Checked],
    further: Sequence[str],
) -> str:
    """Write the comparisons, loading only what the format needs."""
    if format == "markdown":
        from streamgauge.comparison.markdown import markdown

        return markdown(comparisons, checked, further)
    if format == "json":
        from streamgauge.comparison.objects import as_json

        return json.dumps(as_json(comparisons, checked), indent=2, ensure_ascii=False) + "\n"
    if format == "html":
        from streamgauge.comparison.page import html

        return html(folders, comparisons, checked, further)
    from streamgauge.comparison.terminal import render

    console = results_console()
    with console.capture() as captured:
        console.print(render(comparisons, checked, further))
    return captured.get()
