"""The time frame that all charts of a trial share: seconds from the start of the measured span."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.spec.trial import TrialResult
from streamgauge.spec.values import Span

MOST_BINS = 400
"""A chart cannot show more points than this."""


@dataclass(frozen=True)
class Frame:
    """Where a trial's time begins and ends, and how it is cut into bins."""

    origin_ms: int
    """Start of the measured span, epoch milliseconds."""
    start_s: float
    """Where the warm-up begins, at or below 0."""
    measured_s: float
    end_s: float
    """Where the drain ended."""
    bin_s: int

    @property
    def measured(self) -> Span:
        """The measured span."""
        return Span(self.origin_ms, self.origin_ms + round(self.measured_s * 1000))

    @property
    def whole(self) -> Span:
        """Warm-up to drain, on the edges of bins."""
        first = math.floor(self.start_s / self.bin_s) * self.bin_s
        return Span(self.origin_ms + first * 1000, self.origin_ms + math.ceil(self.end_s * 1000))

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """The edges of all bins, in seconds."""
        first = math.floor(self.start_s / self.bin_s)
        last = max(first + 1, math.ceil(self.end_s / self.bin_s))
        return np.arange(first, last + 1, dtype=np.float64) * self.bin_s


def frame_of(result: TrialResult) -> Frame | None:
    """Return the frame of a trial; None if it ended before its load began."""
    if result.measured_ms is None:
        return None
    begin_ms, end_ms = result.measured_ms
    start_s = -result.spec.warmup_s
    end_s = (end_ms - begin_ms) / 1000 + result.spec.tail_s + result.phases.get("drain", 0.0)
    bin_s = max(1, math.ceil((end_s - start_s) / MOST_BINS))
    return Frame(begin_ms, start_s, (end_ms - begin_ms) / 1000, end_s, bin_s)


def series_name(name: str) -> str:
    """Return a name for a series of a chart, whose column `t` has the times."""
    return "“t”" if name == "t" else name
