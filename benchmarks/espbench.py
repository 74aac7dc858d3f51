"""ESPBench on Spark at the published rates: what must be right, kept up and quick.

A run per rate, five minutes a query, as a user would make it; its folder stays in runs/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

import streamgauge
from benchmarks.registry import Measurement, at_least, at_most, benchmark
from streamgauge.api import Run
from streamgauge.spec.trial import TrialResult

RUNS = Path(__file__).parents[1] / "runs"
GAP_MS = 2000
TARGET = "espbench/q1,q2,q3,q4,q5,identity"

LATENCIES: Mapping[str, Mapping[str, float]] = {
    "q1": {"window_latency.p90": 0.6},
    "q2": {"latency.p90": 1.0},
    "q3": {"latency.p50": 0.002, "latency.p99": 0.010},
    "q4": {"latency.p50": 0.005, "latency.p90": 0.025},
    "q5": {"latency.p90": 0.3},
    "identity": {"latency.p50": 0.002, "latency.p99": 0.010},
}
VALIDATION_S = {"q1": 60, "q2": 240, "q3": 60, "q4": 60, "q5": 60, "identity": 60}
"""For 3,000,000 input records."""


@benchmark("espbench-10k", slow=True, makes_runs=True)
def ten_thousand() -> Iterator[Measurement]:
    """All queries at 10,000 records a second and stream, five minutes each."""
    run = streamgauge.run(TARGET, runs=RUNS, rates=["10k/s"], duration="5m")
    yield from measurements(run.results)


@benchmark("espbench-1k", slow=True, makes_runs=True)
def one_thousand() -> Iterator[Measurement]:
    """All queries at 1,000 records a second and stream, five minutes each."""
    run = streamgauge.run(TARGET, runs=RUNS, rates=["1k/s"], duration="5m")
    yield from (each for result in run.results for each in _verdicts(result))


@benchmark("q1-real-time", slow=True, makes_runs=True)
def in_real_time() -> Iterator[Measurement]:
    """Q1 in real-time mode against micro-batches, at 10,000 records a second."""
    real_time = _in_mode("realtime", "5m")
    batches = {each.spec.partitions: each for each in _in_mode("microbatch", "90s").results}
    for result in real_time.results:
        name = f"espbench.q1.{result.spec.partitions}-partitions"
        verdicts = (result.valid, result.correct, result.kept_up)
        held = sum(verdict.holds is True for verdict in verdicts)
        yield at_least(f"{name}.verdicts", held, "of 3", 3)
        p99_ms = 1000 * _p99_outside_checkpoints(real_time, result)
        yield at_most(f"{name}.latency.p99-outside-checkpoints", p99_ms, "ms", 20)
        cpu = [each.metrics["cpu.engine"] for each in (result, batches[result.spec.partitions])]
        yield at_most(f"{name}.cpu-to-microbatch", cpu[0] / cpu[1], "x", 0.5)


def _in_mode(mode: str, duration: str) -> Run:
    return streamgauge.run(
        "espbench/q1",
        runs=RUNS,
        rates=["10k/s"],
        warmup="30s",
        duration=duration,
        engine_options={"mode": mode},
        vary={"partitions": [1, 3]},
    )


def _p99_outside_checkpoints(run: Run, result: TrialResult) -> float:
    """Leave out what was put out while a checkpoint was taken, or worked off after it."""
    rows = run.latencies.filter((pc.field("trial") == result.spec.number) & pc.field("measured"))
    emitted = rows["emitted"].to_numpy()
    far = np.all([abs(emitted - at_ms) > GAP_MS for at_ms in result.checkpoints_ms or [0]], axis=0)
    return float(np.percentile(rows["latency"].to_numpy()[far], 99, method="inverted_cdf"))


@benchmark("espbench-latest", slow=True)
def latest() -> Iterator[Measurement]:
    """The same figures, of the latest run that is there already."""
    yield from measurements(streamgauge.open("@0", runs=RUNS).results)


def measurements(results: Sequence[TrialResult]) -> Iterator[Measurement]:
    """Compare a run at 10k/s with its targets."""
    for result in results:
        query = result.spec.query
        yield from _verdicts(result)
        for name, limit_s in LATENCIES[query].items():
            found_ms = 1000 * result.metrics.get(name, inf)  # what was not measured is missed
            yield at_most(_name(result, name), found_ms, "ms", 1000 * limit_s)
        per_3m_s = result.metrics.get("validation.seconds", inf) * 3e6 / max(result.inputs, 1)
        yield at_most(_name(result, "validation"), per_3m_s, "s/3M", VALIDATION_S[query])
        yield at_most(
            _name(result, "cpu.harness"), result.metrics.get("cpu.harness", inf), "cores", 0.05
        )


def _verdicts(result: TrialResult) -> Iterator[Measurement]:
    """Count the verdicts that hold: valid, correct, kept up."""
    verdicts = (result.valid, result.correct, result.kept_up)
    held = sum(verdict.holds is True for verdict in verdicts)
    yield at_least(_name(result, "verdicts"), held, "of 3", 3)


def _name(result: TrialResult, what: str) -> str:
    return f"espbench.{result.spec.query}.{result.spec.rate:g}.{what}"
