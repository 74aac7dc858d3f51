"""The latencies of several runs in one chart, for a page and for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from streamgauge.measure.percentiles import curve
from streamgauge.measure.statistics import Floats
from streamgauge.report.charts.style import DASHES, FLOOR_MS, LOG_MS, NINES, PALETTE, PERCENT
from streamgauge.report.charts.theme import chart_of, themed
from streamgauge.report.charts.ticks import ticks

_SECONDS = alt.Axis(title=None, labelExpr="format(datum.value, '~r') + ' s'", tickCount=8)
_ALL = 0
"""Stands for all trials of a run together."""


def curves(samples: Mapping[str, Sequence[Floats]]) -> alt.TopLevelMixin:
    """Draw the percentiles of several runs in one chart.

    Args:
        samples: By the run's name, the latencies of each of its trials, in seconds.
    """
    lines: list[dict[str, Any]] = []
    for name, trials in samples.items():
        if len(trials) > 1:
            for number, values_s in enumerate(trials, start=1):
                lines += _line(name, number, values_s)
        lines += _line(name, _ALL, np.concatenate(list(trials)))
    names = list(samples)
    nines = alt.Axis(values=NINES, labelExpr=PERCENT, title=None, labelFlush=True)
    pooled = alt.datum.trial == _ALL
    return themed(
        chart_of(lines)
        .transform_calculate(
            percentile="format(100 - 100 * pow(10, -datum.nines), '.6~r') + ' %'",
            latency="datum.ms < 1 ? '< 1 ms' : format(datum.ms, '~r') + ' ms'",
        )
        .mark_line()
        .encode(
            x=alt.X("nines:Q", scale=alt.Scale(nice=False), axis=nines),
            y=_latency_axis(lines),
            **_by_run(names),
            detail="trial:N",
            strokeWidth=alt.condition(pooled, alt.value(2.5), alt.value(1)),
            opacity=alt.condition(pooled, alt.value(1), alt.value(0.35)),
            tooltip=["run:N", "percentile:N", "latency:N"],
        )
        .properties(width="container", height=260),
        names,
    )


def over_time(medians: Mapping[str, Sequence[tuple[Floats, Floats]]]) -> alt.TopLevelMixin:
    """Draw the median latency of several runs over the measured time.

    Args:
        medians: By the run's name, the times and the medians of each of its trials, in seconds.
    """
    points = [
        {"run": name, "trial": trial, "s": round(float(at_s), 2), "ms": _shown_ms(value_s)}
        for name, trials in medians.items()
        for trial, (times, values) in enumerate(trials, start=1)
        for at_s, value_s in zip(times, values, strict=True)
    ]
    names = list(medians)
    return themed(
        chart_of(points)
        .transform_calculate(
            time="format(datum.s, '.0f') + ' s'",
            latency="datum.ms < 1 ? '< 1 ms' : format(datum.ms, '~r') + ' ms'",
        )
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("s:Q", scale=alt.Scale(nice=False), axis=_SECONDS),
            y=_latency_axis(points),
            detail="trial:N",
            tooltip=["run:N", "time:N", "latency:N"],
            **_by_run(names),
        )
        .properties(width="container", height=260),
        names,
    )


def _by_run(names: Sequence[str]) -> dict[str, Any]:
    """Tell the runs apart by colour and dash."""
    colours = [PALETTE[number % len(PALETTE)] for number in range(len(names))]
    dashes = [DASHES[number % len(DASHES)] or (1, 0) for number in range(len(names))]
    return {
        "color": alt.Color("run:N", scale=alt.Scale(domain=list(names), range=colours)),
        "strokeDash": alt.StrokeDash("run:N", scale=alt.Scale(domain=list(names), range=dashes)),
    }


def _latency_axis(points: Sequence[Mapping[str, Any]]) -> alt.Y:
    return alt.Y(
        "ms:Q",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(labelExpr=LOG_MS, title=None, values=_milliseconds(points)),
    )


def _shown_ms(value_s: float) -> float:
    return max(round(float(value_s) * 1000, 3), FLOOR_MS)


def _milliseconds(lines: Sequence[Mapping[str, Any]]) -> list[float]:
    """Choose the labels of the axis; below a millisecond the clock shows no difference."""
    values = [each["ms"] for each in lines]
    found = [each for each in ticks(0.98 * min(values), 1.02 * max(values)) if each >= 1]
    return [FLOOR_MS, *found] if min(values) < 1 else found


def _line(run: str, trial: int, values_s: Floats) -> list[dict[str, Any]]:
    return [
        {
            "run": run,
            "trial": trial,
            "nines": round(float(nines), 3),
            "ms": _shown_ms(value_s),
        }
        for nines, value_s in zip(*curve(values_s), strict=True)
    ]
