"""How fast runs are compared and listed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.registry import Measurement, at_most, benchmark
from streamgauge.measure import latency
from streamgauge.measure.matching import LATENCIES
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, TrialSpec, Verdict

_START_MS = 1_794_852_330_000
_SPAN_MS = 300_000
_TRIALS, _LATENCIES_PER_TRIAL = 3, 1_000_000
_RUNS = 1000
_YES = Verdict(holds=True, reason="made by hand")


@benchmark("compare")
def compare() -> Iterator[Measurement]:
    """Compare two runs with 3,000,000 latencies each, in the terminal and as a page."""
    with TemporaryDirectory() as place:
        runs = Path(place)
        paths = [str(_run(runs, seed, _TRIALS).path) for seed in (1, 2)]
        yield at_most("compare.text", _command_s("compare", *paths), "s", 10)
        page = runs / "page.html"
        page_s = _command_s("compare", *paths, "--format", "html", "--output", str(page))
        yield at_most("compare.html", page_s, "s", 10)
        yield at_most("compare.html.size", page.stat().st_size / 1e6, "MB", 3)


@benchmark("runs")
def list_runs() -> Iterator[Measurement]:
    """List 1,000 runs."""
    with TemporaryDirectory() as place:
        many_runs(Path(place), _RUNS)
        options = ("--runs-dir", place)
        yield at_most("runs.list", _command_s("runs", *options), "s", 1)
        yield at_most("runs.json", _command_s("runs", "--json", *options), "s", 1)


def _command_s(*arguments: str, repeats: int = 3) -> float:
    """Return the median time of a command from its start to its end."""
    command = [sys.executable, "-m", "streamgauge", *arguments]
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def many_runs(runs: Path, count: int) -> None:
    """Write so many small runs."""
    record = _run(runs, 0, 1, latencies=1000).record()
    for number in range(count - 1):
        copy = RunFolder(runs / f"{record.id}-{number}")
        shutil.copytree(runs / record.id, copy.path)
        (copy.path / "run.json").write_text(
            record.model_copy(update={"id": copy.name}).model_dump_json(), encoding="utf-8"
        )


def _run(runs: Path, seed: int, trials: int, latencies: int = _LATENCIES_PER_TRIAL) -> RunFolder:
    spec = RunSpec(workload="espbench", queries=("q3",), repeats=trials)
    folder = RunFolder.create(runs, spec, ["benchmark"], {"host": "here", "cores": 2}, "1")
    for number in range(1, trials + 1):
        table = _latencies(10 * seed + number, latencies)
        folder.trial_folder(number).mkdir()
        pq.write_table(table, folder.trial_folder(number) / "latency.parquet", compression="zstd")
        folder.write_trial(_trial(number, latency.summarize(table)))
    folder.write(folder.record().model_copy(update={"status": "done"}))
    return folder


def _trial(number: int, metrics: dict[str, float]) -> TrialResult:
    spec = TrialSpec(
        number=number,
        workload="espbench",
        query="q3",
        parameters={},
        engine="spark",
        rate=10_000,
        duration_s=_SPAN_MS / 1000,
        warmup_s=90,
        repeat=number,
    )
    return TrialResult(
        spec=spec,
        status="done",
        valid=_YES,
        correct=_YES,
        kept_up=_YES,
        metrics=metrics,
        started="2026-11-16T17:30:00+00:00",
        measured_ms=(_START_MS, _START_MS + _SPAN_MS),
    )


def _latencies(seed: int, count: int) -> pa.Table:
    took_ms = np.random.default_rng(seed).lognormal(4, 0.5, count).astype(np.int64)
    intended = _START_MS + np.arange(count, dtype=np.int64) * _SPAN_MS // count
    return pa.table(
        {
            "key": pa.array(np.arange(count)).cast(pa.string()),
            "intended": intended,
            "appended": intended,
            "emitted": intended + took_ms,
            "window_end": pa.nulls(count, pa.int64()),
            "correct": pa.array(np.ones(count, dtype=bool)),
            "event": pa.nulls(count, pa.int64()),
            "ingested": pa.nulls(count, pa.int64()),
        },
        schema=LATENCIES,
    )
