"""How time and memory grow when there is ten times as much to do."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.compare import many_runs
from benchmarks.registry import Measurement, at_most, benchmark
from benchmarks.synthetic import make_run
from streamgauge.measure.columns import RECORDS
from streamgauge.workloads.espbench import sensors

MORE = 10
MOST_TIME, MOST_MEMORY = 11.0, 3.0
_OUTPUTS, _RUNS, _RECORDS, _LINES = 300_000, 100, 300_000, 200_000
_GROUP = 50_000

_MEASURED = """
import resource, sys
{statements}
usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
sys.stderr.write("\\n" + str(max(usage.ru_maxrss for usage in usages)))
"""
_COMMAND = """
from streamgauge.cli.main import execute
assert execute({arguments!r}) == 0
"""
_RENDER = """
from streamgauge.workloads.espbench import sensors
assert sum(len(block) for block in sensors.blocks({count}, 1, 1)) == {count}
"""
_VALIDATE = """
from pathlib import Path
from streamgauge.jobfile import JobSpec
from streamgauge.spec.records import Recorded
from streamgauge.transports.files import FileRecords
from streamgauge.validation.session import Session
from streamgauge.validation.validator import validate
from streamgauge.workloads.espbench.workload import Espbench
folder = Path({folder!r})
records = FileRecords(folder / "records.parquet")
asked = {{"workload": "espbench", "query": "identity", "parameters": {{}}, "options": {{}}}}
job = JobSpec(**asked, partitions=1, seed=1)
with Session(folder) as session:
    query = Espbench.queries["identity"]
    found = validate(session.get(), query, Recorded({{"sensor1": records}}, records), {{}}, job)
assert found.counts.correct == {count}
"""


@benchmark("growth", slow=True)
def growth() -> Iterator[Measurement]:
    """Ten times as many outputs, runs, lines and records: at most 11 times as long."""
    for name, prepare in _TASKS.items():
        with tempfile.TemporaryDirectory() as small, tempfile.TemporaryDirectory() as large:
            once = _measure(prepare(Path(small), 1))
            more = _measure(prepare(Path(large), MORE))
        yield at_most(f"growth.{name}.time", more[0] / once[0], "x", MOST_TIME)
        yield at_most(f"growth.{name}.memory", more[1] / once[1], "x", MOST_MEMORY)


def _measure(statements: str) -> tuple[float, float]:
    """Return the seconds and the greatest memory of a process that executes statements."""
    program = _MEASURED.format(statements=statements)
    began_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    return time.perf_counter() - began_s, float(done.stderr.splitlines()[-1])


def _report(folder: Path, size: int) -> str:
    run = make_run(folder, outputs=_OUTPUTS * size, duration_s=300, warmup_s=90)
    return _COMMAND.format(arguments=["report", str(run.path)])


def _compare(folder: Path, size: int) -> str:
    runs = [make_run(folder / name, outputs=_OUTPUTS * size) for name in ("base", "other")]
    return _COMMAND.format(arguments=["compare", *(str(run.path) for run in runs)])


def _list(folder: Path, size: int) -> str:
    many_runs(folder, _RUNS * size)
    return _COMMAND.format(arguments=["runs", "--runs-dir", str(folder)])


def _render(_: Path, size: int) -> str:
    return _RENDER.format(count=_LINES * size)


def _validate(folder: Path, size: int) -> str:
    count = _RECORDS * size
    lines = sensors.lines(_GROUP, 1, 1)
    with pq.ParquetWriter(folder / "records.parquet", RECORDS) as writer:
        for first in range(0, count, _GROUP):
            offsets = np.arange(first, first + _GROUP)
            values = [b"%d;%d;%s" % (n, n, line) for n, line in zip(offsets, lines, strict=True)]
            columns = {
                "partition": np.zeros(_GROUP, dtype=np.int32),
                "offset": offsets,
                "timestamp": offsets,
                "value": pa.array(values, pa.binary()),
            }
            writer.write_table(pa.table(columns, schema=RECORDS))
    return _VALIDATE.format(folder=str(folder), count=count)


_TASKS: dict[str, Callable[[Path, int], str]] = {
    "report": _report,
    "compare": _compare,
    "runs": _list,
    "sensor-lines": _render,
    "validator": _validate,
}
