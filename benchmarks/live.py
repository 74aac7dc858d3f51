"""What the live page costs, and whether a trial feels it."""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.registry import Measurement, at_most, benchmark
from streamgauge.metrics import KNOWN_ROLES
from streamgauge.results import events
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec

_COMMAND = [sys.executable, "-m", "streamgauge"]
_SECONDS = 20
_PAIRS = 4


@benchmark("live")
def live() -> Iterator[Measurement]:
    """CPU of the live page's server with one viewer, at one sample a second."""
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder.create(
            Path(place), RunSpec(workload="espbench", queries=("q1",)), ["benchmark"], {}
        )
        command = [*_COMMAND, "watch", "--runs-dir", place, folder.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                with _viewer(server.stdout.readline().strip()) as messages:
                    used_s = _sample(folder, psutil.Process(server.pid))
                    assert len(messages) >= _SECONDS, "the viewer saw nothing"
            finally:
                server.terminate()
    yield at_most("live.server", used_s / _SECONDS, "cores", 0.03)


def _sample(folder: RunFolder, server: psutil.Process) -> float:
    """Write a sample a second as a trial does; return the CPU time that the server took."""
    with folder.live.open("a", buffering=1) as file:
        file.write(json.dumps({"at": time.time(), "trial": 1, "planned": 1, "query": "q1"}) + "\n")
        for second in range(_SECONDS + 1):
            if second == 1:  # the first message is the viewer's coming, which happens once
                began_s = sum(server.cpu_times()[:2])
            row = {
                f"{kind}.{role}": 0.123456789 for role in KNOWN_ROLES for kind in ("cpu", "memory")
            }
            row |= {"at": time.time(), "due": second, "sent": second, "log_end": second}
            file.write(json.dumps(events.sampled(1, row | {"newest_latency": 0.2})) + "\n")
            time.sleep(1)
    return float(sum(server.cpu_times()[:2]) - began_s)


@contextmanager
def _viewer(address: str) -> Iterator[list[bytes]]:
    """Follow the stream of a page, as a browser would."""
    messages: list[bytes] = []
    host, port = address.removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        stream = connection.makefile("rb")

        def read() -> None:
            messages.extend(line for line in stream if line.startswith(b"data:"))

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield messages
        finally:
            connection.shutdown(socket.SHUT_RDWR)
            reader.join()


@benchmark("live_effect", slow=True, makes_runs=True)
def effect() -> Iterator[Measurement]:
    """Latencies of a trial with the live page and a viewer, over those without."""
    found: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    for watched in [True, False, False, True] * (_PAIRS // 2):
        found[watched].append(_trial(watched=watched))
    for name in ("latency.p50", "latency.p99"):
        medians = {
            watched: statistics.median(each[name] for each in found[watched]) for watched in found
        }
        yield at_most(f"live.effect.{name}", medians[True] / medians[False], "ratio", 1.1)


def _trial(*, watched: bool) -> dict[str, float]:
    command = [
        *_COMMAND,
        "run",
        "espbench/identity",
        "-e",
        "spark",
        "-E",
        "mode=microbatch",
        "--json",
    ]
    command += ["--rate", "10k/s", "--warmup", "30s", "--duration", "60s"]
    with tempfile.TemporaryDirectory() as runs:
        command += ["--runs-dir", runs, *(["--live"] if watched else [])]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as run:
            assert run.stderr is not None
            if watched:
                address = run.stderr.readline().rpartition(" ")[2].strip()
                with _viewer(address):
                    out, _ = run.communicate()
            else:
                out, _ = run.communicate()
        (trial,) = json.loads(out)["trials"]
        assert trial["valid"], trial["reasons"]
        metrics: dict[str, float] = trial["metrics"]
        return metrics
