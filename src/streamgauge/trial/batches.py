"""What batches show: how long they took, how much they dropped, how much state they kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamgauge.measure import statistics
from streamgauge.measure.lag import STEP_S
from streamgauge.spec.progress import FinishedBatch
from streamgauge.spec.values import Span


def batch_metrics(batches: Sequence[FinishedBatch], span: Span) -> dict[str, float]:
    """Return the metrics of the batches that ended in the span; none where there are none."""
    ended = [each for each in batches if span.start_ms <= each.at * 1000 < span.end_ms]
    took_s = np.array([each.batch.took_ms / 1000 for each in ended])
    return statistics.named("batch", took_s) | _dropped(ended, span)


def largest_state(batches: Sequence[FinishedBatch]) -> dict[str, float]:
    """Return the largest state that was kept, where the engine reports it."""
    reported = {
        "state.rows": [each.batch.state_rows for each in batches],
        "state.bytes": [each.batch.state_bytes for each in batches],
    }
    known = {name: [size for size in sizes if size is not None] for name, sizes in reported.items()}
    return {name: float(max(sizes)) for name, sizes in known.items() if sizes}


def _dropped(ended: Sequence[FinishedBatch], span: Span) -> dict[str, float]:
    """Return the greatest rate over 5 s, or over a batch that took longer than that."""
    steps: dict[int, list[FinishedBatch]] = {}
    for each in ended:
        if each.batch.dropped is not None:
            step = int((each.at - span.start_ms / 1000) // STEP_S)
            steps.setdefault(step, []).append(each)
    rates = [_rate(step) for step in steps.values()]
    return {"dropped.rate": max(rates)} if rates else {}


def _rate(step: Sequence[FinishedBatch]) -> float:
    longest_s = max(each.batch.took_ms / 1000 for each in step)
    return sum(each.batch.dropped or 0 for each in step) / max(STEP_S, longest_s)
