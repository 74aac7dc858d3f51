"""Which windows a time lies in: they begin at multiples of the slide since the epoch."""

from __future__ import annotations

import numpy as np

from streamgauge.measure.messages import Integers


def windows(
    earliest: Integers, latest: Integers, size_ms: int, slide_ms: int
) -> tuple[Integers, Integers]:
    """Find for each row all windows that hold both of its times.

    Returns:
        The row's number and the window's start, once for each window of each row.
    """
    first = ((latest - size_ms) // slide_ms + 1) * slide_ms
    last = earliest // slide_ms * slide_ms
    counts = np.maximum((last - first) // slide_ms + 1, 0)
    rows, position = repeated(counts)
    return rows, first[rows] + slide_ms * position


def repeated(counts: Integers) -> tuple[Integers, Integers]:
    """Repeat each row's number as often as it counts; return it and which repetition it is."""
    rows = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, position
