"""Which latencies count, and how long they were.

Tables have the columns of `matching.LATENCIES`; times are epoch milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.measure import statistics
from streamgauge.measure.statistics import Floats

if TYPE_CHECKING:
    from streamgauge.spec.values import Span

SINCE = {
    "latency": ("appended",),
    "event_latency": ("event", "intended"),
    "processing_latency": ("ingested",),
    "window_latency": ("window_end",),
}
"""Where each latency begins: at the first of these times that is known."""


def measured(latencies: pa.Table, span: Span, window_ms: int | None = None) -> pa.Table:
    """Return the rows that count for the measured span.

    A row without a window counts iff the intended time of its latest contributing input lies in
    the span; a row with one iff the whole window does, which takes the window's size.
    """
    end = latencies["window_end"]
    if window_ms is None and end.null_count < len(end):
        raise ValueError("the latencies of windows can only be chosen by the window's size")
    return latencies.filter(is_measured(latencies, span, window_ms or 0))


def is_measured(latencies: pa.Table, span: Span, window_ms: int) -> pa.ChunkedArray:
    """Return for each row whether it counts for the measured span."""
    end = latencies["window_end"]
    intended = latencies["intended"]
    in_span = pc.and_(
        pc.greater_equal(intended, span.start_ms),
        pc.less(intended, span.end_ms),
    )
    window_in_span = pc.and_(
        pc.greater_equal(end, span.start_ms + window_ms),
        pc.less_equal(end, span.end_ms),
    )
    return pc.if_else(pc.is_null(end), in_span, window_in_span)


def seconds(latencies: pa.Table) -> dict[str, Floats]:
    """Return all values of each kind of latency; nothing is clipped.

    Each is in the order of the rows. Rows without a window have no `window_latency`. Rows whose
    engine does not say when it took in its inputs have no `processing_latency`.
    """
    return {name: _since(latencies, name) for name in SINCE}


def summarize(latencies: pa.Table) -> dict[str, float]:
    """Return the statistics of all latencies by the names of their metrics."""
    metrics: dict[str, float] = {}
    kinds = {**seconds(latencies), "pre_window_latency": _before_window(latencies)}
    for name, values_s in kinds.items():
        metrics |= statistics.named(name, values_s)
    return metrics


def passed_ms(latencies: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a kind of latency of each row; null where it has none."""
    start = pc.coalesce(*(latencies[column] for column in SINCE[name]))
    return pc.subtract(latencies["emitted"], start)


def _since(latencies: pa.Table, name: str) -> Floats:
    return _known_s(passed_ms(latencies, name))


def _before_window(latencies: pa.Table) -> Floats:
    """Return the seconds from an output's event time to the engine's intake."""
    event = pc.coalesce(*(latencies[name] for name in SINCE["event_latency"]))
    return _known_s(pc.subtract(latencies["ingested"], event))


def _known_s(passed_ms: pa.ChunkedArray) -> Floats:
    values_s: Floats = pc.drop_null(passed_ms).to_numpy().astype(np.float64) / 1000
    return values_s
