"""`streamgauge tasks`: what an event costs, task by task, from stored stacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from streamgauge.cli.output import Json, print_json, results_console, write_output
from streamgauge.cli.show import RunsDir
from streamgauge.errors import UsageError

if TYPE_CHECKING:
    from streamgauge.report.profile.profiled import Profiled

EXAMPLES = """\b
Examples:
  streamgauge tasks @0                          by the steps of Spark
  streamgauge tasks @0 --tasks rank             by the tasks of Rank et al.
  streamgauge tasks @0 --tasks mine.yaml --trial 2
  streamgauge tasks @0 --format speedscope -o q3.speedscope.json
  streamgauge tasks profile-4711 --format folded -o stacks.txt

\b
A task file has ordered patterns; a stack belongs to the first that matches, from its leaf on:
  frames:
    parse: 'JsonToStructs|JacksonParser'
    write: 'kafka\\.clients\\.producer'
See docs/experiments/efficiency.md for the rest."""

Format = Literal["text", "csv", "folded", "speedscope", "html"]
TasksFile = Annotated[
    str,
    typer.Option(
        "--tasks",
        metavar="FILE",
        help="Task file: spark, rank, or your own YAML file.",
        envvar="STREAMGAUGE_TASKS",
    ),
]


def tasks(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run made with --profile, or a profile's folder.")
    ],
    tasks_file: TasksFile = "spark",
    trial: Annotated[
        int | None, typer.Option(help="Only this trial.", envvar="STREAMGAUGE_TRIAL")
    ] = None,
    format: Annotated[
        Format, typer.Option(help="Output format.", envvar="STREAMGAUGE_TASKS_FORMAT")
    ] = "text",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="File to write to [default: stdout].",
            envvar="STREAMGAUGE_TASKS_OUTPUT",
        ),
    ] = None,
    runs_dir: RunsDir = Path("runs"),
    as_json: Json = False,
) -> None:
    """Divide the CPU time of profiled trials among tasks, again and with any task file.

    Nothing is measured again: the stacks are the stored ones.
    """
    found = _found(runs_dir, run, tasks_file, trial)
    if as_json:
        print_json({"profiles": [each.as_json() for each in found]})
        return
    if format == "text" and output is None:
        show(found)
        return
    if len(found) > 1:
        raise UsageError(f"{run} has {len(found)} profiles", "Choose one with --trial N.")
    text = written(found[0], format)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_output(output, text)


def show(found: list[Profiled]) -> None:
    """Print profiles as tables."""
    from streamgauge.report.profile.terminal import render

    console = results_console()
    for each in found:
        for part in render(each):
            console.print(part)


def written(of: Profiled, format: Format) -> str:
    """Return a profile as the text of a file."""
    from streamgauge.profiling import exports
    from streamgauge.report.profile.page import profile_page
    from streamgauge.report.profile.terminal import as_text

    if format == "csv":
        return exports.as_csv(of.told, of.events, of.profile.record.counters.get("cycles"))
    if format == "folded":
        return exports.as_folded(of.profile)
    if format == "speedscope":
        return exports.as_speedscope(of.profile, of.title)
    return profile_page(of) if format == "html" else as_text(of)


def _found(runs: Path, name: str, tasks_file: str, trial: int | None) -> list[Profiled]:
    from streamgauge.profiling.profile import RECORD, read_profile
    from streamgauge.profiling.task_file import read_tasks
    from streamgauge.report.profile.profiled import Profiled, profiled_trials
    from streamgauge.results.folder import find

    by = read_tasks(tasks_file)
    if (Path(name) / RECORD).exists():
        profile = read_profile(Path(name))
        assert profile is not None, "it is there"
        return [Profiled(Path(name).name, profile, by, None)]
    folder = find(runs, name)
    results = [each for each in folder.trials() if trial in (None, each.spec.number)]
    found = list(profiled_trials(folder, results, by))
    if not found:
        which = folder.name if trial is None else f"trial {trial} of {folder.name}"
        raise UsageError(f"{which} has no profile", "Run it with --profile auto.")
    return found
