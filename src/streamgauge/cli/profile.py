"""`streamgauge profile`: sample running processes, no matter who started them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.output import Json, print_json, print_line, progress, write_output
from streamgauge.cli.tasks import TasksFile, show, written
from streamgauge.errors import Interrupted, NotReady, UsageError

EXAMPLES = """\b
Examples:
  streamgauge profile --pid 4711                      for a minute, with its descendants
  streamgauge profile --pid 4711 --tasks mine.yaml --for 20s
  streamgauge profile --pid 4711 --by jfr --output before

\b
`streamgauge tasks` reads the folder that it writes; its profile.html has a flame graph."""


def profile(
    pid: Annotated[
        list[int],
        typer.Option("--pid", help="A process; its descendants are sampled as well.", min=1),
    ],
    tasks_file: TasksFile = "spark",
    lasts: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="DURATION",
            help="How long to sample.",
            envvar="STREAMGAUGE_PROFILE_FOR",
        ),
    ] = "60s",
    by: Annotated[
        str,
        typer.Option(
            metavar="PROFILER",
            help="One of `streamgauge list profilers`.",
            envvar="STREAMGAUGE_PROFILE",
        ),
    ] = "auto",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder for the samples [default: profile-PID].",
            envvar="STREAMGAUGE_PROFILE_OUTPUT",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Sample the stacks of running processes and divide their CPU time among tasks."""
    from streamgauge.profiling.profile import read_profile
    from streamgauge.profiling.task_file import read_tasks
    from streamgauge.report.profile.profiled import Profiled
    from streamgauge.units import format_duration, parse_duration

    tasks, seconds = read_tasks(tasks_file), parse_duration(lasts)
    folder = output or Path(f"profile-{pid[0]}")
    for each in pid:
        if not Path(f"/proc/{each}").exists():
            raise UsageError(f"there is no process {each}", "Look with `ps` or `jps`.")
    progress(f"sampling for {format_duration(seconds)}")
    whole = _record(by, pid, seconds, folder)
    found = read_profile(folder)
    if found is None:
        raise UsageError(f"profiler {by} left no profile in {folder}", "Use --by auto.")
    of = Profiled(folder.name, found, tasks, None)
    write_output(folder / "profile.html", written(of, "html"))
    if as_json:
        print_json({"folder": str(folder), **of.as_json()})
    else:
        show([of])
        print_line(f"  {folder / 'profile.html'}")
    if not whole:
        raise Interrupted("interrupted: this is what was sampled so far")


def _record(by: str, pids: list[int], seconds: float, folder: Path) -> bool:
    """Sample until the time is over or all processes have ended; return False after Ctrl-C."""
    from streamgauge.planning import load_profiler
    from streamgauge.spec.profile import ReadsLater

    profiler = load_profiler(by)
    if problems := profiler.check():
        raise NotReady(f"profiler {by} is not ready: {problems[0].what}", problems[0].remedy)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotReady(f"cannot write to {folder}: {error.strerror}", "Use --output.") from None
    with profiler.record(lambda: pids, folder):
        whole = _wait(pids, seconds)
    if isinstance(profiler, ReadsLater):
        profiler.read()
    return whole


def _wait(pids: list[int], seconds: float) -> bool:
    end_s = time.monotonic() + seconds
    try:
        while time.monotonic() < end_s and any(map(_runs, pids)):
            time.sleep(min(0.2, max(0.0, end_s - time.monotonic())))
    except KeyboardInterrupt:
        return False
    return True


def _runs(pid: int) -> bool:
    """Return whether a process runs: one that has ended may still wait for its parent."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - read five times a second
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
