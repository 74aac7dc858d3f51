"""The batches of a trial, as its engine reported them in progress.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

import numpy as np

from streamgauge.report.frame import Frame
from streamgauge.spec.contracts import Json

MOST_MARKS = 120
"""More boundaries than this would be a curtain before the chart."""
_WHOLE = "triggerExecution"


@dataclass(frozen=True)
class Batch:
    """One batch of a Spark query."""

    at_s: float
    """When it began, in the trial's time."""
    phases: dict[str, float]
    """Milliseconds spent in each of its phases."""
    whole_ms: float


def read_batches(file: Path, frame: Frame) -> list[Batch]:
    """Read all batches; lines that are cut off or of another kind are left out."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        found = [_batch(event, frame) for event in _events(lines)]
    return [batch for batch in found if batch.at_s >= frame.start_s]


def phases(batches: list[Batch], frame: Frame) -> dict[str, Json]:
    """Return the mean duration of each phase per bin, the longest phase first."""
    bins = sorted({int(batch.at_s // frame.bin_s) for batch in batches})
    place = {number: index for index, number in enumerate(bins)}
    totals: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    count = np.zeros(len(bins))
    for batch in batches:
        index = place[int(batch.at_s // frame.bin_s)]
        count[index] += 1
        for name, took_ms in batch.phases.items():
            totals.setdefault(name, np.zeros(len(bins)))[index] += took_ms
    order = sorted(totals, key=lambda name: -totals[name].sum())
    made: dict[str, Json] = {"t": [number * frame.bin_s for number in bins]}
    return made | {name: np.round(totals[name] / count, 1).tolist() for name in order}


def collections(file: Path, frame: Frame) -> dict[str, Json]:
    """Return how long the engine collected garbage, in milliseconds of each second."""
    at_s, total_ms = [], []
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if '"gc_ms"' in line and line.endswith("\n"):
                report = json.loads(line)
                at_s.append(report["at"] - frame.origin_ms / 1000)
                total_ms.append(report["gc_ms"])
    if not at_s:
        return {}
    seconds = np.arange(frame.start_s, frame.end_s, frame.bin_s)
    reached = np.interp([*seconds, seconds[-1] + frame.bin_s], at_s, total_ms)
    each = np.round(np.diff(reached) / frame.bin_s, 1)
    return {"t": seconds.tolist(), "gc": each.tolist()}


def describe(batches: list[Batch]) -> str:
    """Tell how many batches there were and how long they took."""
    took_ms = median(batch.whole_ms for batch in batches)
    return f"{len(batches):,} batches, the median took {took_ms:,.0f} ms"


def _events(lines: Iterator[str]) -> Iterator[dict[str, Json]]:
    for line in lines:
        if '"event"' not in line:
            continue
        try:
            event = json.loads(line)["event"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(event, dict) and isinstance(event.get("durationMs"), dict):
            yield event


def _batch(event: dict[str, Json], frame: Frame) -> Batch:
    begun = datetime.fromisoformat(str(event["timestamp"]))
    durations = event["durationMs"]
    assert isinstance(durations, dict)
    took = {name: float(str(value)) for name, value in durations.items()}
    whole_ms = took.pop(_WHOLE, sum(took.values()))
    return Batch(round(begun.timestamp() - frame.origin_ms / 1000, 2), took, whole_ms)
