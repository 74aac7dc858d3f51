"""The looks of charts that are made with Altair, the same in a page and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import altair as alt
from markupsafe import Markup

from streamgauge.report.charts.vega import PALETTE, QUIET
from streamgauge.report.page.figures import frame
from streamgauge.report.page.legend import SIGNS, line_key, sign_key
from streamgauge.report.page.markup import data, tag

GOOD, BAD, NEUTRAL = PALETTE[2], PALETTE[1], QUIET
_SHORT_NAME = 16


def configured(chart: alt.TopLevelMixin, names: Iterable[str]) -> alt.TopLevelMixin:
    """Give a chart the looks that all charts share.

    Args:
        chart: The chart.
        names: What its legend says; long names get a line each.
    """
    columns = 3 if max(map(len, names), default=0) <= _SHORT_NAME else 1
    looks: alt.TopLevelMixin = (
        chart.configure(
            background="transparent",
            font="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
            padding=4,
        )
        .configure_view(stroke=None)
        .configure_axis(
            domain=False,
            ticks=False,
            gridColor="#d8dde3",
            labelColor="#57606a",
            labelFontSize=11,
            labelPadding=6,
            titleColor="#57606a",
            titleFontWeight="normal",
        )
        .configure_legend(
            orient="top",
            title=None,
            columns=columns,
            labelColor="#57606a",
            labelFontSize=13,
            labelLimit=340,
            symbolSize=110,
            symbolStrokeWidth=2.5,
            columnPadding=18,
            offset=6,
        )
    )
    return looks


def chart_figure(
    name: str, chart: alt.TopLevelMixin, title: str, note: str
) -> tuple[Markup, Markup]:
    """Make the figure of a chart in a page, and the data that the page's script draws there.

    The legend is the page's, made from the chart's own scales.
    """
    spec = chart.to_dict()
    del spec["$schema"]  # an address on the network, of which the page needs none
    spec["config"]["legend"] = {"disable": True}
    text = tag("p", note, class_="aside") if note else Markup()
    return frame(title, text, *_keys(_scales(spec)), data_spec=name), data(name, spec)


def _scales(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scales of a chart's channels, of all its layers."""
    channels = {
        channel: how
        for part in (spec, *spec.get("layer", ()))
        for channel, how in part.get("encoding", {}).items()
    }
    return {channel: how["scale"] for channel, how in channels.items() if "scale" in how}


def _keys(scales: Mapping[str, Any]) -> Iterator[Markup]:
    colour = scales["color"]
    for place, (name, shade) in enumerate(zip(colour["domain"], colour["range"], strict=True)):
        if "strokeDash" in scales:
            yield line_key(shade, name, scales["strokeDash"]["range"][place])
        else:
            shapes = scales.get("shape", {}).get("range") or [SIGNS["square"]]
            yield sign_key(shade, shapes[place % len(shapes)], name)
