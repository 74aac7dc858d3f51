"""The batches of a trial, as its engine reported them in progress.jsonl."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from streamgauge.report.frame import Frame
from streamgauge.spec.values import Json

_WHOLE = "triggerExecution"


class _Read(BaseModel):
    """A part of a line; it may say more than is read here."""

    model_config = ConfigDict(strict=True)


class _Event(_Read):
    timestamp: AwareDatetime
    durations: dict[str, FiniteFloat] = Field(alias="durationMs")


class _BatchLine(_Read):
    event: _Event


class _GarbageLine(_Read):
    at: FiniteFloat
    gc_ms: FiniteFloat


_Line = TypeVar("_Line", bound=_Read)


@dataclass(frozen=True)
class Batch:
    """One batch of a Spark query."""

    began_ms: int
    """When it began, epoch milliseconds."""
    at_s: float
    """The same in the trial's time."""
    phases: dict[str, float]
    """Milliseconds spent in each of its phases."""
    whole_ms: float


def read_batches(file: Path, frame: Frame) -> list[Batch]:
    """Read all batches; lines that are cut off, malformed or of another kind are left out."""
    found = [_batch(line.event, frame) for line in _lines(file, "event", _BatchLine)]
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
    found = sorted((line.at, line.gc_ms) for line in _lines(file, "gc_ms", _GarbageLine))
    if not found:
        return {}
    at_s, total_ms = np.array(found).T
    edges = frame.edges
    reached = np.interp(edges, at_s - frame.origin_ms / 1000, total_ms)
    each = np.round(np.diff(reached) / frame.bin_s, 1)
    return {"t": edges[:-1].tolist(), "gc": each.tolist()}


def describe(batches: list[Batch]) -> str:
    """Tell how many batches there were and how long they took."""
    took_ms = median(batch.whole_ms for batch in batches)
    return f"{len(batches):,} batches, the median took {took_ms:,.0f} ms"


def _lines(file: Path, key: str, kind: type[_Line]) -> Iterator[_Line]:
    """Yield the lines of a kind, as far as they make sense."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if f'"{key}"' in line:
                try:
                    yield kind.model_validate_json(line)
                except ValidationError:
                    continue


def _batch(event: _Event, frame: Frame) -> Batch:
    began_ms = round(event.timestamp.timestamp() * 1000)
    at_s = (began_ms - frame.origin_ms) / 1000
    took = dict(event.durations)
    whole_ms = took.pop(_WHOLE, sum(took.values()))
    return Batch(began_ms, round(at_s, 2), took, whole_ms)
