"""How the lag of a trial's engine changed: from its offsets, or from its outputs."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa

from streamgauge.measure import behind, lag
from streamgauge.measure.statistics import Floats
from streamgauge.measure.verdicts import FEWEST_OUTPUTS
from streamgauge.objectives import parse_objective
from streamgauge.probes.sampler import Row
from streamgauge.spec.trial import LagTrend
from streamgauge.spec.values import Span
from streamgauge.trial.bench import TrialState

SHARE = 0.9
"""Probability of the interval that is given with a slope."""
BEYOND_DOUBT = 0.98
"""The same for the interval whose lower end cuts a trial short: wrong once in a hundred times."""
LEAST_SHARE = 0.5
"""Share of the measured time that must be over before a trial is cut short."""
TIMES = 2.0
"""The lag must grow this many times faster than allowed."""


def by_offsets(timeline: list[Row], span: Span) -> Floats:
    """Return the lag in records on the grid, from the log's end and the engine's offsets."""
    known = [row for row in timeline if "log_end" in row and "finished" in row]
    at_s = np.array([row["at"] for row in known])
    return lag.on_grid(at_s, np.array([row["log_end"] - row["finished"] for row in known]), span)


def by_outputs(latencies: pa.Table | None, span: Span, total_rate: float) -> Floats:
    """Return how far the outputs were behind on the grid, times the offered rate."""
    if latencies is None or len(latencies) < FEWEST_OUTPUTS:
        return np.array([])
    return behind.behind(latencies, span, round(lag.STEP_S * 1000)) * total_rate


def lag_trend(
    timeline: list[Row],
    latencies: pa.Table | None,
    span: Span,
    total_rate: float,
    *,
    tells_offsets: bool,
) -> LagTrend | None:
    """Sum up how the lag changed; None where it is not known at enough points.

    Args:
        timeline: What was sampled over the whole trial.
        latencies: Of all outputs.
        span: The measured span.
        total_rate: Records per second, over all input streams.
        tells_offsets: False for an engine that reports its offsets only at checkpoints.
    """
    lags = by_offsets(timeline, span) if tells_offsets else by_outputs(latencies, span, total_rate)
    line = lag.line(lags)
    if line is None:
        return None
    low, high = lag.limits(lags, SHARE) or (None, None)
    return LagTrend(
        by="offsets" if tells_offsets else "outputs",
        slope=line.slope,
        low=low,
        high=high,
        sawtooth=line.sawtooth,
        step_s=lag.STEP_S,
        lags=tuple(None if np.isnan(each) else float(each) for each in lags),
    )


class Hopeless:
    """Checks every 5 s whether the lag of a running trial clearly grows."""

    def __init__(self, limit: float, span: Span) -> None:
        self._limit = limit
        self._span = span
        half_ms = int(LEAST_SHARE * (span.end_ms - span.start_ms))
        self._due_ms = span.start_ms + half_ms

    def seen(self, timeline: list[Row], now_ms: int) -> bool:
        """Look at what was sampled so far, if it is time."""
        if now_ms < self._due_ms:
            return False
        self._due_ms = now_ms + round(lag.STEP_S * 1000)
        lags = by_offsets(timeline, Span(self._span.start_ms, now_ms))
        limits = lag.limits(lags, BEYOND_DOUBT)
        return limits is not None and limits[0] > TIMES * self._limit


def hopeless(state: TrialState, streams: int) -> Hopeless | None:
    """Return what cuts a trial's measured time short, where that is wanted and possible."""
    spec = state.spec
    if spec.cut_by is None or state.measured is None or state.job.checkpoint_s is not None:
        return None
    offered = {"rate.offered": spec.rate * streams}
    given = spec.resources.sizes(len(os.sched_getaffinity(0)))
    limit = parse_objective(spec.cut_by).limit(offered | given)
    return None if limit is None else Hopeless(limit, state.measured)
