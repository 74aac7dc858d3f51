"""`streamgauge show` and `runs`: look at workloads and runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import Json, print_json, print_line, progress, results_console
from streamgauge.errors import StreamgaugeError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamgauge.results.folder import RunFolder
    from streamgauge.spec.jobs import Modes
    from streamgauge.spec.workload import Workload

SHOW_EXAMPLES = """\b
Examples:
  streamgauge show espbench      what the workload computes, and which core functions it covers
  streamgauge show @0            the latest run
  streamgauge show 20261116-17   a run by the beginning of its id
  streamgauge show @0 --as espbench-2021   latencies as the publication prints them"""

RUNS_EXAMPLES = """\b
Examples:
  streamgauge runs
  streamgauge runs --engine spark --query q3 --since 7d
  streamgauge runs --tag branch=main --status done"""

_RUNS = Path("runs")
"""The folder of all runs by default; it may not exist yet."""
RunsDir = Annotated[Path, typer.Option(help="Folder of all runs.", envvar="STREAMGAUGE_RUNS_DIR")]


def show(
    name: Annotated[str, typer.Argument(metavar="NAME|RUN", help="A workload or a run.")],
    as_table: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="TABLE", help="A run as the table of a publication: espbench-2021."
        ),
    ] = None,
    runs_dir: RunsDir = Path("runs"),
    as_json: Json = False,
) -> None:
    """Show a workload, or a run by id prefix, tag, path or @0 (the latest)."""
    from streamgauge import registry
    from streamgauge.planning import load_workload
    from streamgauge.results.folder import find

    if as_table is not None:
        _show_as(find(runs_dir, name), as_table, as_json=as_json)
    elif name in registry.names("workloads"):
        _show_workload(load_workload(name), as_json=as_json)
    else:
        show_run(find(runs_dir, name), as_json=as_json)


def runs(
    workload: Annotated[str | None, typer.Option(help="Only runs of this workload.")] = None,
    query: Annotated[str | None, typer.Option(help="Only runs with this query.")] = None,
    engine: Annotated[str | None, typer.Option(help="Only runs on this engine.")] = None,
    status: Annotated[str | None, typer.Option(help="Only runs of this status.")] = None,
    tag: Annotated[
        str | None, typer.Option(metavar="KEY=VALUE", help="Only runs with this tag.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE|AGE", help="Only later runs: 2026-11-16, or 7d.")
    ] = None,
    runs_dir: RunsDir = Path("runs"),
    as_json: Json = False,
) -> None:
    """List runs, the latest first."""
    from datetime import UTC, datetime

    from streamgauge.errors import UsageError
    from streamgauge.report.terminal.runs import entry, run_lines
    from streamgauge.results.folder import all_runs
    from streamgauge.results.selection import STATUSES, Wanted, parse_since, select

    if runs_dir != _RUNS and not runs_dir.is_dir():
        raise UsageError(f"there is no folder {runs_dir}", "Check --runs-dir.")
    if status is not None and status not in STATUSES:
        raise unknown_name("status", status, STATUSES)
    start = parse_since(since, datetime.now(UTC)) if since else None
    wanted = Wanted(workload, query, engine, status, tag, start)
    found, unreadable = select(all_runs(runs_dir), wanted)
    for problem in unreadable:
        progress(f"left out: {problem.splitlines()[0]}")
    if as_json:
        print_json({"runs": [entry(folder, record) for folder, record in found]})
    elif found:
        for line in run_lines(found):
            print_line(line)
    else:
        print_line(
            f"no matching runs in {runs_dir}" if wanted != Wanted() else f"no runs in {runs_dir}"
        )


def show_run(folder: RunFolder, *, as_json: bool) -> None:
    """Print a run's results."""
    if as_json:
        from streamgauge.results.summary import summary

        print_json(summary(folder))
        return
    from streamgauge.report.terminal.overview import render

    results_console().print(render(folder))


def _show_as(folder: RunFolder, table: str, *, as_json: bool) -> None:
    from streamgauge.errors import UsageError
    from streamgauge.report.terminal.published import render_as

    if as_json:
        raise UsageError("--as prints a table, not JSON", "Leave out --json or --as.")
    console = results_console()
    for part in render_as(folder, table):
        console.print(part)


def _show_workload(workload: Workload, *, as_json: bool) -> None:
    queries = list(workload.queries.values())
    if as_json:
        described = [
            {
                "name": q.name,
                "title": q.title,
                "streams": q.streams,
                "functions": q.functions,
                "modes": {engine: asdict(modes) for engine, modes in _modes(workload, q.name)},
            }
            for q in queries
        ]
        print_json({"workload": workload.name, "queries": described})
        return
    print_line(f"{workload.name} (version {workload.version}): {workload.title}\n")
    width = max(len(query.name) for query in queries)
    for query in queries:
        by_name = "" if query.name in workload.default_queries else " (run by name only)"
        print_line(f"  {query.name:<{width}}  {query.title}{by_name}")
        print_line(f"  {'':<{width}}  reads {', '.join(query.streams)}; writes a {query.output}")
        for engine, modes in _modes(workload, query.name):
            print_line(f"  {'':<{width}}  on {engine}: {', '.join(modes.allowed)}")
            for mode, reason in modes.refused.items():
                print_line(f"  {'':<{width}}    not {mode}: {reason}")
            for option, values in modes.options.items():
                print_line(f"  {'':<{width}}    -E {option}={'|'.join(values)}")
    print_line("\nCoverage of core functions:")
    for function in dict.fromkeys(name for query in queries for name in query.functions):
        covered = [query.name for query in queries if function in query.functions]
        print_line(f"  {function:32} {', '.join(covered)}")
    _show_parameters(workload)


def _show_parameters(workload: Workload) -> None:
    """Print what -P takes: each parameter's default, meaning and an example."""
    fields = workload.parameters.model_fields
    rows = [
        (name, f"default {_plain(field.default)}", " ".join((field.description or "").split()))
        for name, field in fields.items()
    ]
    names, defaults = (max((len(row[place]) for row in rows), default=0) for place in (0, 1))
    print_line("\nParameters (-P key=value):")
    for name, default, meaning in rows:
        print_line(f"  {name:<{names}}  {default:<{defaults}}  {meaning}".rstrip())
        for example in fields[name].examples or ():
            print_line(f"  {'':<{names}}  {'':<{defaults}}  as in -P {example}")


def _plain(value: object) -> str:
    """Write a default as a user would type it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _modes(workload: Workload, query: str) -> Iterator[tuple[str, Modes]]:
    """Yield the modes in which each engine runs a query, for engines with several."""
    from streamgauge import registry
    from streamgauge.planning import load_engine
    from streamgauge.spec.engine import HasModes

    for name in registry.names("engines"):
        with suppress(StreamgaugeError):  # not installed, or without this query
            engine = load_engine(name)
            if isinstance(engine, HasModes):
                yield name, engine.modes(workload.name, query)
