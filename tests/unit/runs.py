"""Whole run folders made by hand: trials, latencies and timeline, as a run leaves them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.measure import latency
from streamgauge.measure.matching import LATENCIES
from streamgauge.results.csv import write_tables
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Counts, TrialResult, TrialSpec, Verdict

START_MS = 1_794_852_330_000
MACHINE = {
    "host": "bench",
    "system": "Linux 6",
    "cpu": "a fast one",
    "cores": 2,
    "memory_bytes": 8 << 30,
    "streamgauge": "0.1.0",
}
YES = Verdict(holds=True, reason="so it is")
NO = Verdict(holds=False, reason="the sender sent 12 % of what was due")


def make_trial(
    number: int = 1, metrics: dict[str, float] | None = None, **changes: object
) -> TrialResult:
    """Make a trial; what `TrialSpec` knows changes its spec, the rest the result."""
    spec = {
        "number": number,
        "workload": "espbench",
        "query": "q3",
        "parameters": {"warehouses": 3},
        "engine": "spark",
        "mode": "realtime",
        "rate": 1000.0,
        "duration_s": 20.0,
        "warmup_s": 5.0,
        "repeat": number,
    }
    for name in list(changes):
        if name in TrialSpec.model_fields:
            spec[name] = changes.pop(name)
    fields: dict[str, object] = {
        "spec": spec,
        "status": "done",
        "valid": YES,
        "correct": YES,
        "kept_up": YES,
        "inputs": 27_002,
        "counts": Counts(expected=120, correct=120),
        "metrics": {"latency.p50": 0.1, "latency.p99": 0.2} if metrics is None else metrics,
        "started": "2026-11-16T17:30:00+00:00",
        "measured_ms": (START_MS, START_MS + 20_000),
    }
    return TrialResult.model_validate(fields | changes)


def latency_table(values_ms: Sequence[int]) -> pa.Table:
    """Make latency.parquet of outputs that lie evenly in the measured span."""
    intended = START_MS + np.linspace(0, 19_999, len(values_ms)).astype(np.int64)
    return pa.table(
        {
            "key": pa.array([str(number) for number in range(len(values_ms))]),
            "intended": intended,
            "appended": intended + 1,
            "emitted": intended + 1 + np.asarray(values_ms, dtype=np.int64),
            "window_end": pa.nulls(len(values_ms), pa.int64()),
            "correct": pa.array([True] * len(values_ms)),
            "event": pa.nulls(len(values_ms), pa.int64()),
            "ingested": pa.nulls(len(values_ms), pa.int64()),
        },
        schema=LATENCIES,
    )


def write_run(
    runs: Path,
    trials: Sequence[TrialResult],
    *,
    latencies_ms: Sequence[Sequence[int]] = (),
    machine: dict[str, object] | None = None,
    version: str | None = "1",
    **spec: object,
) -> RunFolder:
    """Write a finished run; latencies, where given, add their statistics to the trials."""
    asked = RunSpec.model_validate({"workload": "espbench", "queries": ("q3",), **spec})
    command = ["streamgauge", "run", "espbench/q3"]
    folder = RunFolder.create(runs, asked, command, {**MACHINE, **(machine or {})}, version)
    for position, result in enumerate(trials):
        place = folder.trial_folder(result.spec.number)
        place.mkdir()
        if latencies_ms:
            table = latency_table(latencies_ms[position])
            pq.write_table(table, place / "latency.parquet")
            timeline = {"at": [START_MS / 1000 + second for second in range(3)]}
            pq.write_table(
                pa.table({**timeline, "cpu.engine": [0.5, 0.6, 0.7]}), place / "timeline.parquet"
            )
            metrics = {**result.metrics, **latency.summarize(table)}
            result = result.model_copy(update={"metrics": metrics})
        folder.write_trial(result)
    folder.write(folder.record().model_copy(update={"status": "done"}))
    write_tables(folder.path, folder.trials())
    return folder


def started(folder: RunFolder, at: str) -> RunFolder:
    """Let a run have been started at that time."""
    folder.write(folder.record().model_copy(update={"started": at}))
    return folder


def sample_ms(seed: int, median_ms: float, count: int = 2000) -> list[int]:
    """Draw latencies as engines have them: many alike and a long tail."""
    drawn = np.random.default_rng(seed).lognormal(np.log(median_ms), 0.4, count)
    return [int(each) for each in drawn]


def three_trials(runs: Path, median_ms: float, seed: int = 1, **spec: object) -> RunFolder:
    """Write a run of three trials whose latencies lie round a median."""
    samples = [sample_ms(seed * 10 + number, median_ms) for number in range(3)]
    trials = [make_trial(number + 1) for number in range(3)]
    return write_run(runs, trials, latencies_ms=samples, **spec)
