"""What profiling itself costs: a trial with the profiler on and off in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.measure.statistics import Floats
from streamgauge.spec.trial import Model
from streamgauge.spec.values import Span

SEGMENT_S = 20.0
SETTLE_S = 1.0
"""Not counted at the beginning of a segment: starting and stopping take time."""
LEAST_PAIRS = 3
_RESAMPLES = 2000


class Segment(Model):
    """A part of a trial with the profiler on or off."""

    start_ms: int
    end_ms: int
    on: bool
    cpu_s: float
    """CPU time of the engine's processes."""


class Cost(Model):
    """With the profiler on, divided by with it off; 95 % interval over the pairs."""

    ratio: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"×{self.ratio:.3f} ({self.low:.3f}–{self.high:.3f})"


class Overhead(Model):
    """What profiling cost in one trial."""

    backends: list[str]
    what: str
    """The trial: `ysb/topic at 10k/s`."""
    pairs: int
    cpu: Cost | None = None
    """Of the CPU time of the engine's processes; None with too few pairs."""
    latency: Cost | None = None
    """Of the mean latency."""

    def __str__(self) -> str:
        both = {"CPU": self.cpu, "mean latency": self.latency}
        parts = [f"{name} {cost}" for name, cost in both.items() if cost is not None]
        by = " and ".join(self.backends)
        return f"{by} cost {', '.join(parts)} here, in {self.pairs} pairs of {self.what}"


@dataclass(frozen=True)
class Outputs:
    """When outputs were due and how long they took."""

    due_ms: Floats
    took_s: Floats


def overhead(
    segments: Sequence[Segment], outputs: Outputs | None, backends: Sequence[str], what: str
) -> Overhead:
    """Compare neighbouring segments, one with the profiler on and one with it off."""
    pairs = _pairs(segments)
    cpu = [_log_ratio(_cores(on), _cores(off)) for on, off in pairs]
    took = [] if outputs is None else [_log_ratio(*_means(outputs, *each)) for each in pairs]
    return Overhead(
        backends=list(backends),
        what=what,
        pairs=len(pairs),
        cpu=cost([each for each in cpu if each is not None]),
        latency=cost([each for each in took if each is not None]),
    )


def cost(log_ratios: Sequence[float]) -> Cost | None:
    """Return the mean ratio with its interval, by resampling the pairs."""
    if len(log_ratios) < LEAST_PAIRS:
        return None
    values = np.asarray(log_ratios)
    drawn = np.random.default_rng(1).integers(0, len(values), (_RESAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    middle, low, high = (float(np.exp(each)) for each in (values.mean(), low, high))
    return Cost(ratio=middle, low=low, high=high)


def _pairs(segments: Sequence[Segment]) -> list[tuple[Segment, Segment]]:
    """Pair neighbours, the one that is on first."""
    found = []
    for one, two in zip(segments[::2], segments[1::2], strict=False):
        if one.on != two.on:
            found.append((one, two) if one.on else (two, one))
    return found


def _cores(segment: Segment) -> float:
    return segment.cpu_s / max(1e-3, (segment.end_ms - segment.start_ms) / 1000)


def _means(outputs: Outputs, on: Segment, off: Segment) -> tuple[float, float]:
    return _mean(outputs, on), _mean(outputs, off)


def _mean(outputs: Outputs, segment: Segment) -> float:
    span = Span(segment.start_ms, segment.end_ms)
    inside = (outputs.due_ms >= span.start_ms) & (outputs.due_ms < span.end_ms)
    return float(outputs.took_s[inside].mean()) if inside.any() else 0.0


def _log_ratio(on: float, off: float) -> float | None:
    return float(np.log(on / off)) if on > 0 and off > 0 else None
