"""results.csv: a line per trial, the publication's columns first."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from streamgauge.files import write_atomically
from streamgauge.spec.trial import TrialResult

Cell = str | int | float | None


def write_csv(file: Path, results: Sequence[TrialResult]) -> None:
    """Write one line per trial; metrics that no trial has get no column."""
    write_atomically(file, csv_text(results))


def csv_text(results: Sequence[TrialResult]) -> str:
    """Return the lines of results.csv."""
    names = sorted({name for result in results for name in result.metrics})
    text = io.StringIO()
    rows = [{**_published(result), **_details(result, names)} for result in results]
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def _published(result: TrialResult) -> dict[str, Cell]:
    """Return the columns of the ESPBench publication; latencies in seconds, from a window's end."""
    counts, metrics = result.counts, result.metrics
    latency = "window_latency" if "window_latency.mean" in metrics else "latency"
    false_outputs = counts.wrong + counts.missing + counts.duplicate + counts.unexpected
    return {
        "rate": result.spec.rate,
        "query": result.spec.query,
        "correct": _word(result.correct.holds),
        "p90": metrics.get(f"{latency}.p90"),
        "min": metrics.get(f"{latency}.min"),
        "max": metrics.get(f"{latency}.max"),
        "mean": metrics.get(f"{latency}.mean"),
        "input": result.inputs,
        "expected": counts.expected,
        "actual": counts.outputs,
        "false_outputs": false_outputs,
        "correctness_percent": 100 * counts.correct / counts.expected if counts.expected else None,
        "validator_seconds": metrics.get("validation.seconds"),
    }


def _details(result: TrialResult, names: Sequence[str]) -> dict[str, Cell]:
    spec, counts = result.spec, result.counts
    return {
        "trial": spec.number,
        "workload": spec.workload,
        "engine": spec.engine,
        "mode": spec.mode,
        "repeat": spec.repeat,
        "partitions": spec.partitions,
        "acks": spec.load.acks,
        "batch": spec.load.batch,
        "linger": spec.load.linger_s,
        "senders": spec.load.senders,
        "source": spec.load.source,
        "quick": _word(spec.quick),
        "status": result.status,
        "valid": _word(result.valid.holds),
        "kept_up": _word(result.kept_up.holds),
        "wrong": counts.wrong,
        "missing": counts.missing,
        "duplicate": counts.duplicate,
        "unexpected": counts.unexpected,
        **{name: result.metrics.get(name) for name in names},
    }


def _word(value: bool | None) -> str:
    return {True: "yes", False: "no", None: ""}[value]
