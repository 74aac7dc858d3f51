"""`streamgauge export`: a run for other tools, or for another machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from streamgauge.cli.output import Json, print_json, print_line, write_output
from streamgauge.cli.show import RunsDir

EXAMPLES = """\b
Examples:
  streamgauge export @0                         trials, latencies and timeline as Parquet
  streamgauge export @0 --format csv --output tables
  streamgauge export @0 --format theodolite     demand or capacity, for Theodolite's notebooks
  streamgauge export @0 --package               what another machine needs to run it again"""

Format = Literal["csv", "parquet", "json", "theodolite"]


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run.")],
    format: Annotated[
        Format, typer.Option(help="Format of the files.", envvar="STREAMGAUGE_EXPORT_FORMAT")
    ] = "parquet",
    package: Annotated[
        bool,
        typer.Option("--package", help="Write a replication package (a zip file) instead."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder, or package file [default: named after the run].",
            envvar="STREAMGAUGE_EXPORT_OUTPUT",
        ),
    ] = None,
    runs_dir: RunsDir = Path("runs"),
    as_json: Json = False,
) -> None:
    """Write a run's trials, latencies and timeline as files, and print their names.

    For a search for demand or capacity, `--format theodolite` writes the files that the notebooks
    of Theodolite read.

    A replication package holds the spec as a preset, the results, machine and versions:
    `streamgauge run --preset preset.yaml` runs it again.
    """
    from streamgauge.results.folder import find

    folder = find(runs_dir, run)
    name = folder.record().id
    if package:
        from streamgauge.results.package import package as make_package

        file = output or Path(f"{name}.zip")
        write_output(file, make_package(folder))
        written = [file]
    elif format == "theodolite":
        from streamgauge.results.theodolite import export_theodolite

        written = export_theodolite(folder, output or Path(name))
    else:
        from streamgauge.results.export import export as export_tables

        written = export_tables(folder, format, output or Path(name))
    if as_json:
        print_json({"files": [str(file) for file in written]})
        return
    for file in written:
        print_line(str(file))
