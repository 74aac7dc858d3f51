"""`streamgauge watch`: the live page of a run, also for `run --live`."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from streamgauge.cli.output import print_line, progress

EXAMPLES = """\b
Examples:
  streamgauge watch                        the run under way, or the next one
  streamgauge watch @0                     the latest run, even when it is over
  streamgauge watch --port 9090 --metrics  for Prometheus: http://127.0.0.1:9090/metrics"""

_NICENESS = 10
_START_S = 60.0


def watch(
    name: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A run [default: the one under way, or the next]."),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            help="Port on 127.0.0.1; 0 for a free one.",
            min=0,
            max=65535,
            envvar="STREAMGAUGE_PORT",
        ),
    ] = 0,
    metrics: Annotated[
        bool,
        typer.Option(
            "--metrics",
            help="Expose the figures for Prometheus at /metrics.",
            envvar="STREAMGAUGE_METRICS",
        ),
    ] = False,
    runs_dir: Annotated[
        Path, typer.Option(help="Folder of all runs.", envvar="STREAMGAUGE_RUNS_DIR")
    ] = Path("runs"),
) -> None:
    """Show a run on a web page while it runs; Ctrl-C closes the page.

    Only this machine can open the page. It may be opened before the run starts and by several
    viewers; when the run is over it leads to the report.
    """
    from streamgauge.live.follow import Chosen
    from streamgauge.live.server import Page, address, listen, serve
    from streamgauge.results.folder import find

    chosen = Chosen(runs_dir, find(runs_dir, name) if name is not None else None)
    page = Page(chosen, metrics=metrics)
    with listen(port) as listening:
        os.nice(_NICENESS)  # the measurement comes first
        print_line(address(listening))
        if metrics:
            print_line(f"{address(listening)}metrics")
        sys.stdout.flush()
        serve(page, listening)


@contextmanager
def serve_beside(runs_dir: Path) -> Iterator[None]:
    """Serve the page of the next run from a process of its own, while the context lasts."""
    from tempfile import TemporaryDirectory

    from streamgauge import process
    from streamgauge.errors import NotReady
    from streamgauge.services import runtime

    command = [sys.executable, "-m", "streamgauge", "watch", "--port=0", f"--runs-dir={runs_dir}"]
    with TemporaryDirectory(dir=runtime.data_dir()) as place:
        log = Path(place) / "live.log"
        with process.start(command, log=log, pipe_stdout=True) as child:
            stdout = child.stdout
            assert stdout is not None
            process.wait_until(lambda: _speaks(stdout), child, _START_S, "the live page")
            address = stdout.readline().decode().strip()
            if not address:
                raise NotReady(f"the live page did not start: {child.failure()}")
            progress(f"live page: {address}")
            yield


def _speaks(pipe: IO[bytes]) -> bool:
    return bool(select.select([pipe], [], [], 0)[0])
