"""How long a report takes, how much memory and how large it gets."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.registry import Measurement, at_most, benchmark
from benchmarks.synthetic import make_run

LATENCIES = 3_000_000
_PEAK = """
import resource, sys
from streamgauge.cli.main import execute
code = execute(["report", sys.argv[1]])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sys.stderr.write(str(peak * 1024))
sys.exit(code)
"""


@benchmark("report")
def report() -> Iterator[Measurement]:
    """The report of a run with 3,000,000 latencies, and that of a quick run."""
    with tempfile.TemporaryDirectory() as place:
        runs = Path(place)
        large = make_run(runs, outputs=LATENCIES, duration_s=300, warmup_s=90)
        took_s, peak, size = _report(large.path)
        yield at_most("report.seconds", took_s, "s", 10)
        yield at_most("report.memory", peak / 1e9, "GB", 1)
        yield at_most("report.size", size / 1e6, "MB", 3)
        quick = make_run(runs, trials=5, outputs=20_000, spec={"quick": True})
        yield at_most("report.quick", _report(quick.path)[0], "s", 3)


def _report(path: Path) -> tuple[float, int, int]:
    """Return seconds, bytes of memory and bytes of the file."""
    begin_s = time.perf_counter()
    command = [sys.executable, "-c", _PEAK, str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    took_s = time.perf_counter() - begin_s
    return took_s, int(done.stderr), (path / "report.html").stat().st_size
