"""The batches of a trial, as its engine reported them in progress.jsonl."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from streamgauge.report.charts.data.time_frame import Frame, series_name
from streamgauge.spec.progress import BatchReport
from streamgauge.spec.values import Json


class _Read(BaseModel):
    """A part of a line; the line may say more than is read here."""

    model_config = ConfigDict(strict=True)


class _BatchLine(_Read):
    batch: BatchReport


class _GarbageLine(_Read):
    at: FiniteFloat
    gc_ms: FiniteFloat


_Line = TypeVar("_Line", bound=_Read)


@dataclass(frozen=True)
class Batch:
    """One batch of a query."""

    began_ms: float
    """When it began, epoch milliseconds."""
    at_s: float
    """The same in the trial's time."""
    phases: dict[str, float]
    """Milliseconds spent in each of its phases."""
    whole_ms: float
    dropped: int = 0
    """Rows that came too late for it, if the engine reports them."""


def read_batches(file: Path, frame: Frame) -> list[Batch]:
    """Read all batches; lines that are cut off, malformed or of another kind are left out."""
    found = [_batch(line.batch, frame) for line in _lines(file, "batch", _BatchLine)]
    return [batch for batch in found if frame.start_s <= batch.at_s <= frame.end_s]


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
            totals.setdefault(series_name(name), np.zeros(len(bins)))[index] += took_ms
    order = sorted(totals, key=lambda name: -totals[name].sum())
    made: dict[str, Json] = {"t": [number * frame.bin_s for number in bins]}
    return made | {name: np.round(totals[name] / count, 1).tolist() for name in order}


def collections(file: Path, frame: Frame) -> dict[str, Json]:
    """Return how long the engine collected garbage, in milliseconds per second."""
    found = sorted((line.at, line.gc_ms) for line in _lines(file, "gc_ms", _GarbageLine))
    if not found:
        return {}
    at_s, total_ms = np.array(found).T
    edges = frame.edges
    reached = np.interp(edges, at_s - frame.origin_ms / 1000, total_ms)
    each = np.round(np.diff(reached) / frame.bin_s, 1)
    return {"t": edges[:-1].tolist(), "gc": each.tolist()}


def describe(batches: list[Batch]) -> str:
    """Describe how many batches there were, how long they took and what they dropped."""
    took_ms = median(batch.whole_ms for batch in batches)
    summary = f"{len(batches):,} batches, the median took {took_ms:,.0f} ms"
    dropped = sum(batch.dropped for batch in batches)
    lost = f"; {dropped:,} rows came after the watermark and were dropped" if dropped else ""
    return summary + lost


def _lines(file: Path, key: str, kind: type[_Line]) -> Iterator[_Line]:
    """Yield the well-formed lines of a kind."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if f'"{key}"' in line:
                try:
                    yield kind.model_validate_json(line)
                except ValidationError:
                    continue


def _batch(reported: BatchReport, frame: Frame) -> Batch:
    at_s = round((reported.began_ms - frame.origin_ms) / 1000, 2)
    return Batch(reported.began_ms, at_s, reported.phases, reported.took_ms, reported.dropped or 0)
