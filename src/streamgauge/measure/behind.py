"""How far an engine was behind: in seconds from its outputs, in records from its offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure.statistics import Floats
from streamgauge.spec.progress import TIMELY_S

if TYPE_CHECKING:
    from streamgauge.spec.values import Span


def grid(span: Span, step_ms: int = 1000) -> npt.NDArray[np.int64]:
    """Return the times, epoch milliseconds, at which `behind` is computed."""
    return np.arange(span.start_ms, span.end_ms, step_ms, dtype=np.int64)


def behind(latencies: pa.Table, span: Span, step_ms: int = 1000) -> Floats:
    """Return the age, in seconds, of the oldest unanswered input at each point of the grid.

    At t that is the greatest t − intended over outputs with intended ≤ t < emitted, or 0 without
    any. An input that has to wait for the end of its window counts from then on.
    The table must have the outputs of the whole trial: older ones reach into the span.
    """
    at = grid(span, step_ms)
    latest_input = latencies["intended"]
    intended = pc.max_element_wise(latest_input, latencies["window_end"]).to_numpy()
    oldest_first = np.argsort(intended, kind="stable")
    intended = intended[oldest_first]
    latest = np.maximum.accumulate(latencies["emitted"].to_numpy()[oldest_first])
    # The running maximum first exceeds t at the oldest output that was emitted after t.
    oldest = np.searchsorted(latest, at, side="right")
    intended_at = np.append(intended, np.iinfo(np.int64).max)[oldest]
    values_s: Floats = np.where(intended_at <= at, at - intended_at, 0) / 1000.0
    return values_s


def last_third(values: Floats) -> Floats:
    """Return the last third of a series, where a backlog that grows shows most."""
    return values[len(values) * 2 // 3 :]


@dataclass(frozen=True)
class Offsets:
    """Offsets, summed over all input partitions, as they were seen at certain times."""

    at_s: Floats
    """Epoch seconds, ascending."""
    total: npt.NDArray[np.int64]


def lag(at_s: Floats, log_end: Floats, finished: Floats, span: Span) -> Floats | None:
    """Return log end − end of finished work, in records, at each of these times in the span.

    None where the engine did not report its offsets at least every 5 s.
    """
    moved = np.flatnonzero(np.diff(finished, prepend=-1))
    reports = Offsets(at_s[moved], finished[moved].astype(np.int64))
    return lag_of_reports(Offsets(at_s, log_end.astype(np.int64)), reports, span)


def lag_of_reports(log_end: Offsets, finished: Offsets, span: Span) -> Floats | None:
    """Return the same where the engine reported at other times than the log was looked at."""
    inside = (log_end.at_s >= span.start_ms / 1000) & (log_end.at_s < span.end_ms / 1000)
    at_s = log_end.at_s[inside]
    newest = np.searchsorted(finished.at_s, at_s, side="right") - 1
    if len(at_s) == 0 or newest[0] < 0:
        return None
    if np.max(at_s - finished.at_s[newest]) > TIMELY_S:
        return None
    return (log_end.total[inside] - finished.total[newest]).astype(np.float64)
