"""What a Spark task does as a sender: the same as the sender's process, through a socket."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark import BarrierTaskContext

from streamgauge import registry
from streamgauge.load.protocol import Hello, Line, SenderJob
from streamgauge.load.sender import Sender
from streamgauge.load.serving import serve

_CONNECT_S = 30.0


def send(
    jobs: Sequence[str], harness: tuple[str, int], token: str, numbers: Iterable[int]
) -> Iterator[tuple[int, bytes]]:
    """Serve the harness as the sender with that number; yield the record of the load.

    Args:
        jobs: The job of each sender, as JSON.
        harness: Where it listens.
        token: Shows the harness that we are its task.
        numbers: The one number of this task.
    """
    (number,) = numbers
    BarrierTaskContext.get().barrier()
    with (
        TemporaryDirectory() as folder,
        socket.create_connection(harness, _CONNECT_S) as connection,
        connection.makefile("r", encoding="utf-8") as lines,
    ):
        connection.settimeout(None)

        def say(line: Hello | Line) -> None:
            connection.sendall(line.model_dump_json().encode() + b"\n")

        say(Hello(token=token, number=number, of=len(jobs)))
        ticks = Path(folder) / "ticks.parquet"
        job = SenderJob.model_validate_json(jobs[number]).model_copy(update={"ticks": ticks})
        workload = registry.load("workloads", job.spec.workload)()
        serve(Sender(job, workload, say), lines)
        yield number, ticks.read_bytes() if ticks.exists() else b""
