"""The charts of one run for a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import altair as alt

from streamgauge.errors import UsageError
from streamgauge.measure.statistics import Floats
from streamgauge.report.charts.runs import curves
from streamgauge.results.folder import RunFolder
from streamgauge.results.tables import measured_seconds
from streamgauge.units import format_rate


def latency(folder: RunFolder) -> alt.TopLevelMixin:
    """Draw the percentiles of each query at each rate; thin lines are its single trials."""
    samples: dict[str, list[Floats]] = {}
    for result in folder.trials():
        values_s = measured_seconds(folder, result)
        if len(values_s):
            name = f"{result.spec.query} at {format_rate(result.spec.rate)}"
            samples.setdefault(name, []).append(values_s)
    if not samples:
        raise UsageError(f"{folder.name} has no latencies", "Open a run with finished trials.")
    return curves(samples)


CHARTS: Mapping[str, Callable[[RunFolder], alt.TopLevelMixin]] = {"latency": latency}
