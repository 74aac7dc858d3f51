"""Run folders made up for readers of run folders: any size, known content, no engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.load import arrivals
from streamgauge.measure import latency, statistics
from streamgauge.measure.matching import EXAMPLES, LATENCIES
from streamgauge.metrics import KNOWN_ROLES
from streamgauge.results.folder import RunFolder
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Counts, TrialResult, TrialSpec, Verdict
from streamgauge.spec.values import Span

START_MS = 1_794_848_000_000
"""When the load of every made-up trial begins."""
TAIL_S = 2.0
DRAIN_S = 3.0
WINDOW_MS = 20
"""Size of the windows that all outputs are of."""
_YES = Verdict(holds=True, reason="so it was made")
_MACHINE = {"host": "made-up", "cpu": "none", "cores": 2, "memory_bytes": 8 << 30, "python": "3"}


def make_run(
    runs: Path,
    *,
    trials: int = 1,
    outputs: int = 2000,
    duration_s: float = 20.0,
    warmup_s: float = 5.0,
    repeats: int = 1,
    spec: Mapping[str, object] | None = None,
) -> RunFolder:
    """Write a finished run; `outputs` are per trial, spread over warm-up and measured span."""
    run = RunSpec(
        workload="espbench",
        queries=("q1", "q3"),
        engine="spark",
        duration_s=duration_s,
        warmup_s=warmup_s,
        repeats=repeats,
        origins={"duration": "option", "warmup": "option"},
    ).model_copy(update=dict(spec or {}))
    folder = RunFolder.create(runs, run, ["streamgauge", "run", "espbench"], _MACHINE)
    for number in range(1, trials + 1):
        write_trial(folder, _trial_spec(run, number), outputs)
    folder.write(folder.record().model_copy(update={"status": "done"}))
    return folder


def write_trial(folder: RunFolder, spec: TrialSpec, outputs: int) -> TrialResult:
    """Write all files of one trial, trial.json last."""
    place = folder.trial_folder(spec.number)
    (place / "validation").mkdir(parents=True)
    begin_ms = START_MS + int(spec.warmup_s * 1000)
    span = Span(begin_ms, begin_ms + int(spec.duration_s * 1000))
    table = latencies(spec, outputs)
    pq.write_table(table, place / "latency.parquet", compression="zstd")
    pq.write_table(EXAMPLES.empty_table(), place / "validation" / "examples.parquet")
    pq.write_table(_timeline(spec), place / "timeline.parquet")
    pq.write_table(_ticks(spec), place / "sender.parquet")
    (place / "progress.jsonl").write_text(_progress(spec), encoding="utf-8")
    counted = latency.measured(table, span, WINDOW_MS)
    result = TrialResult(
        spec=spec,
        status="done",
        valid=_YES,
        correct=_YES,
        kept_up=_YES,
        inputs=arrivals.records(spec),
        counts=Counts(expected=outputs, correct=outputs),
        metrics=latency.summarize(counted) | statistics.named("lag", np.array([100.0, 120.0])),
        started=datetime.fromtimestamp(START_MS / 1000 - 10, UTC).isoformat(),
        phases={"warm-up": spec.warmup_s, "measure": spec.duration_s, "drain": DRAIN_S},
        measured_ms=(span.start_ms, span.end_ms),
        window_ms=WINDOW_MS,
        settings={"mode": spec.mode or "", "spark.master": "local[2]"},
    )
    folder.write_trial(result)
    return result


def latencies(spec: TrialSpec, outputs: int) -> pa.Table:
    """Return latencies of some 50 ms with a long tail, each due a little after the last.

    Outputs come after the end of their window; inputs are taken in when they are appended.
    """
    random = np.random.default_rng(spec.number)
    length_ms = int((spec.warmup_s + spec.duration_s) * 1000)
    intended = START_MS + np.sort(random.integers(0, length_ms, outputs))
    appended = intended + random.integers(0, 3, outputs)
    took = np.minimum(random.lognormal(np.log(50), 0.6, outputs), 60_000)
    window_end = (intended // WINDOW_MS + 1) * WINDOW_MS
    emitted = np.maximum(appended, window_end) + took.astype(np.int64)
    columns = {
        "key": pa.array(np.arange(outputs)).cast(pa.string()),
        "intended": intended,
        "appended": appended,
        "emitted": emitted,
        "window_end": window_end,
        "correct": np.ones(outputs, dtype=bool),
        "event": pa.nulls(outputs, pa.int64()),
        "ingested": appended,
    }
    return pa.table(columns, schema=LATENCIES)


def _trial_spec(run: RunSpec, number: int) -> TrialSpec:
    kind, repeat = divmod(number - 1, run.repeats)
    return TrialSpec(
        number=number,
        workload=run.workload,
        query=run.queries[kind % len(run.queries)],
        parameters=run.parameters,
        engine=run.engine,
        mode="microbatch",
        rate=run.rates[0],
        duration_s=run.duration_s,
        warmup_s=run.warmup_s,
        tail_s=TAIL_S,
        repeat=repeat + 1,
        quick=run.quick,
    )


def _timeline(spec: TrialSpec) -> pa.Table:
    random = np.random.default_rng(spec.number)
    seconds = np.arange(spec.load_s + DRAIN_S) + 0.2
    log_end = spec.rate * np.minimum(seconds, spec.load_s)
    columns = {
        "at": START_MS / 1000 + seconds,
        "log_end": log_end,
        "finished": np.maximum(0, log_end - 100 - random.integers(0, 50, len(seconds))),
        "load.1m": random.uniform(0.5, 2, len(seconds)),
        "steal": np.zeros(len(seconds)),
        "network.lo": random.uniform(1e6, 2e6, len(seconds)),
        "network.eth0": np.zeros(len(seconds)),
    }
    for role in KNOWN_ROLES:
        columns[f"cpu.{role}"] = random.uniform(0, 0.4, len(seconds))
        columns[f"memory.{role}"] = random.uniform(1e8, 2e8, len(seconds))
        columns[f"disk.{role}"] = random.uniform(0, 1e6, len(seconds))
    return pa.table(columns)


def _ticks(spec: TrialSpec) -> pa.Table:
    at_ms = np.arange(0, spec.load_s * 1000, 100)
    due = (spec.rate * (at_ms + 100) / 1000).astype(np.int64)
    return pa.table({"at_ms": START_MS + at_ms.astype(np.int64), "due": due, "sent": due})


def _progress(spec: TrialSpec) -> str:
    lines = []
    for number in range(int(spec.load_s)):
        at_s = START_MS / 1000 + number
        phases = {"addBatch": 200, "walCommit": 30}
        batch = {"began_ms": round(at_s * 1000), "took_ms": 250, "phases": phases}
        lines.append(json.dumps({"at": at_s + 0.3, "idle": False, "batch": batch}))
        lines.append(json.dumps({"at": at_s + 0.5, "idle": True, "gc_ms": number // 3 * 40}))
    return "\n".join(lines) + "\n"
