"""What a broker took in: how many records each second and minute, stamped with which times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from streamgauge.measure.statistics import Floats, named

if TYPE_CHECKING:
    from streamgauge.spec.values import Span

Ints = npt.NDArray[np.int64]


def rates(at_s: Floats, ends: Floats, span: Span) -> dict[str, float]:
    """Return the records appended per second: on average, and of each second and minute.

    Args:
        at_s: When the end of the log was looked at, epoch seconds, ascending.
        ends: Records in all input topics then.
        span: The measured time.
    """
    begin_s, end_s = span.start_ms / 1000, min(span.end_ms / 1000, at_s[-1] if len(at_s) else 0)
    if len(at_s) < 2 or end_s - begin_s < 1:
        return {}
    grid = np.arange(begin_s, end_s + 1e-6)
    known = np.interp(grid, at_s, ends)
    first, last = np.interp([begin_s, end_s], at_s, ends)
    found = {"rate.appended": float((last - first) / (end_s - begin_s))}
    found |= named("rate_per_second", np.diff(known))
    if len(known) > 60:
        found |= named("rate_per_minute", (known[60:] - known[:-60]) / 60)
    return found


def append_runs(appended_ms: Ints) -> dict[str, float]:
    """Return how many consecutive records share an append time, and how far two are apart."""
    edges = np.flatnonzero(np.diff(appended_ms)) + 1
    if len(edges) < 2:
        return {}
    # The first and the last run are cut off by the sample.
    lengths = np.diff(edges).astype(np.float64)
    steps_s = np.diff(appended_ms[np.concatenate(([0], edges))]) / 1000
    return {**named("append_run", lengths), **named("append_step", steps_s)}


def first_append_times(appended_ms: Ints, records: int) -> list[int]:
    """Return the append times of that many consecutive records, from the first, in milliseconds."""
    shown = appended_ms[:records]
    return [] if len(shown) < records else [int(at) for at in shown - shown[0]]
