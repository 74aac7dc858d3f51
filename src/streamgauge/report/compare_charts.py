"""The charts of a comparison: ratios round 1.0, latencies of the runs over each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from streamgauge.measure.comparison import CLOCK_S, Comparison
from streamgauge.measure.percentiles import curve
from streamgauge.measure.ratio import Ratio
from streamgauge.measure.statistics import Floats
from streamgauge.report.compare_rows import Row, headline_metrics, rows
from streamgauge.report.keys import SIGNS
from streamgauge.report.looks import BAD, GOOD, NEUTRAL, configured
from streamgauge.report.ticks import ticks
from streamgauge.report.vega import DASHES, FLOOR_MS, LABELS, PALETTE, PERCENT

_MS = f"datum.value < 1 ? '< 1 ms' : ({LABELS['ms']})"
_KINDS = {
    "better": (GOOD, SIGNS["up"]),
    "worse": (BAD, SIGNS["down"]),
    "no difference": (NEUTRAL, SIGNS["circle"]),
    "neither better nor worse": (NEUTRAL, SIGNS["diamond"]),
    "too few trials": (NEUTRAL, SIGNS["cross"]),
}
_SECONDS = alt.Axis(title=None, labelExpr="format(datum.value, '~r') + ' s'", tickCount=8)
_ABOVE = (1.02, 1.05, 1.1, 1.2, 1.5, 2, 5, 10, 20, 50, 100)
_ROOM = 1.15
_ROW = 24
_ALL = 0
"""Stands for all trials of a run together."""


def forest(comparison: Comparison, further: Sequence[str] = ()) -> alt.TopLevelMixin | None:
    """Draw each metric's ratio with its interval round 1.0; None when there is no ratio."""
    several = len(comparison.pairs) > 1
    drawn = [
        _bar(f"{pair.name} · {row.metric}" if several else row.metric, row, each.ratio)
        for pair in comparison.pairs
        for each in headline_metrics(pair, further)
        for row in rows([each])
        if each.ratio is not None
    ]
    if not drawn:
        return None
    low, high = _domain(drawn)
    for bar in drawn:  # an infinite interval ends at the frame
        for name in ("value", "low", "high"):
            bar[name] = min(max(bar[name], low), high)
    return _forest(drawn, low, high)


def _bar(label: str, row: Row, ratio: Ratio) -> dict[str, Any]:
    kind = {True: "better", False: "worse", None: "neither better nor worse"}[row.improves]
    if row.word in ("no difference", "too few trials"):
        kind = row.word
    return {
        "metric": label,
        "verdict": kind,
        "value": ratio.value,
        "low": ratio.value if ratio.low is None else ratio.low,
        "high": ratio.value if ratio.high is None else ratio.high,
        "told": f"{row.ratio} ({row.interval}): {row.word}",
        "base": row.base,
        "other": row.other,
    }


def _domain(drawn: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    ends = [each[name] for each in drawn for name in ("low", "value", "high")]
    known = [abs(math.log(end)) for end in ends if 0 < end < math.inf]
    reach = math.exp(min(max(known, default=0.0), math.log(100))) * _ROOM
    return 1 / reach, reach


def _ticks(reach: float) -> list[float]:
    """Choose round numbers that stand apart, and below 1 what inverts them."""
    above: list[float] = []
    for each in _ABOVE:
        if each <= reach and math.log(each / (above or [1])[-1]) >= math.log(reach) / 6:
            above.append(each)
    return [*(round(1 / each, 2) for each in reversed(above)), 1, *above]


def _forest(drawn: list[dict[str, Any]], low: float, high: float) -> alt.TopLevelMixin:
    order = [each["metric"] for each in drawn]
    kinds = [kind for kind in _KINDS if any(each["verdict"] == kind for each in drawn)]
    colours, shapes = zip(*(_KINDS[kind] for kind in kinds), strict=True)
    base = alt.Chart(_values(drawn)).encode(
        y=alt.Y("metric:N", sort=order, title=None, axis=alt.Axis(labelLimit=230, grid=True)),
        color=alt.Color("verdict:N", scale=alt.Scale(domain=kinds, range=colours)),
        tooltip=[alt.Tooltip(f"{name}:N") for name in ("metric", "told", "base", "other")],
    )
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(
        values=_ticks(high),
        format="~r",
        title="other ÷ base",
        labelOverlap="greedy",
        labelSeparation=6,
    )
    bars = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q"
    )
    points = base.mark_point(size=110, filled=True, opacity=1).encode(
        x=alt.X("value:Q", scale=scale),
        shape=alt.Shape("verdict:N", scale=alt.Scale(domain=kinds, range=shapes)),
    )
    one = alt.Chart(_values([{"one": 1.0}])).mark_rule(color=NEUTRAL, strokeDash=[4, 3])
    layers = alt.layer(one.encode(x=alt.X("one:Q", scale=scale)), bars, points)
    return configured(layers.properties(width="container", height=_ROW * len(drawn)), kinds)


def curves(samples: Mapping[str, Sequence[Floats]]) -> alt.TopLevelMixin:
    """Draw the percentiles of several runs over each other.

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
    nines = alt.Axis(
        values=[0, 0.30103, *range(1, 9)], labelExpr=PERCENT, title=None, labelFlush=True
    )
    pooled = alt.datum.trial == _ALL
    return configured(
        alt.Chart(_values(lines))
        .transform_calculate(
            percentile="format(100 - 100 * pow(10, -datum.nines), '.6~r') + ' %'",
            latency=f"datum.ms < {1000 * CLOCK_S} ? '< 1 ms' : format(datum.ms, '~r') + ' ms'",
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
        medians: By the run's name, of each of its trials the times and the medians, in seconds.
    """
    points = [
        {"run": name, "trial": trial, "s": round(float(at_s), 2), "ms": _shown_ms(value_s)}
        for name, trials in medians.items()
        for trial, (times, values) in enumerate(trials, start=1)
        for at_s, value_s in zip(times, values, strict=True)
    ]
    names = list(medians)
    return configured(
        alt.Chart(_values(points))
        .transform_calculate(
            time="format(datum.s, '.0f') + ' s'",
            latency=f"datum.ms < {1000 * CLOCK_S} ? '< 1 ms' : format(datum.ms, '~r') + ' ms'",
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
        axis=alt.Axis(labelExpr=_MS, title=None, values=_milliseconds(points)),
    )


def _shown_ms(value_s: float) -> float:
    return max(round(float(value_s) * 1000, 3), FLOOR_MS)


def _milliseconds(lines: Sequence[Mapping[str, Any]]) -> list[float]:
    """Choose what stands on the axis; below a millisecond the clock tells nothing apart."""
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


def _values(rows_: list[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=rows_)
