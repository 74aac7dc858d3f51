"""How fast the command answers."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.registry import Measurement, at_most, benchmark

_HEAVY = ("pyspark", "pyarrow", "confluent_kafka")


def _median_s(command: Sequence[str], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


@benchmark("cli")
def cli() -> Iterator[Measurement]:
    """Time from typing --help or --version to the answer."""
    for option in ("help", "version"):
        command = [sys.executable, "-m", "streamgauge", f"--{option}"]
        yield at_most(f"cli.{option}", _median_s(command), "s", 0.3)


@benchmark("import")
def imports() -> Iterator[Measurement]:
    """Heavy packages that `import streamgauge` loads, and what it costs."""
    code = f"import sys, streamgauge; print(sum(name in sys.modules for name in {_HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    yield at_most("import.heavy", int(done.stdout), "packages", 0)
    whole = _median_s([sys.executable, "-c", "import streamgauge"])
    bare = _median_s([sys.executable, "-c", ""])
    yield at_most("import.seconds", whole - bare, "s", 0.05)
