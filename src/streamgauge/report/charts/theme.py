"""The look of all charts: in a page, a picture and a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_TEXT = "#57606a"
_SHORT_NAME = 16

Spec = dict[str, Any]
"""A chart in Vega-Lite."""


def themed(
    chart: alt.TopLevelMixin, names: Iterable[str] | None = None, *, picture: bool = False
) -> alt.TopLevelMixin:
    """Give a chart the look that all charts share.

    Args:
        chart: The chart.
        names: The entries of its legend; long names get a line each. None for no legend.
        picture: Whether it is on its own in a page of text.
    """
    looks: alt.TopLevelMixin = (
        chart.configure(
            background="white" if picture else "transparent",
            font=_FONT,
            padding=12 if picture else 4,
            aria=False,
        )
        .configure_view(stroke="transparent")
        .configure_axis(
            domain=False,
            ticks=False,
            gridColor="#d8dde3",
            labelColor=_TEXT,
            labelFontSize=11,
            labelPadding=6,
            titleColor=_TEXT,
            titleFontWeight="normal",
        )
    )
    if names is None:
        return looks.configure_legend(disable=True)
    columns = 3 if max(map(len, names), default=0) <= _SHORT_NAME else 1
    return looks.configure_legend(
        orient="top",
        title=None,
        columns=columns,
        labelColor=_TEXT,
        labelFontSize=13,
        labelLimit=340,
        symbolSize=110,
        symbolOpacity=1,
        symbolStrokeWidth=2.5,
        columnPadding=18,
        offset=6,
    )


def fitted(chart: alt.TopLevelMixin, height: int) -> alt.TopLevelMixin:
    """Let a chart be as wide as its place in the page."""
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    return chart.properties(width="container", height=height, autosize=fit)


def spec_of(chart: alt.TopLevelMixin) -> Spec:
    """Return a chart in Vega-Lite, with its data in place."""
    with alt.data_transformers.enable(consolidate_datasets=False):
        spec: Spec = chart.to_dict()
    del spec["$schema"]  # an address on the network, which no reader needs
    return spec


def chart_of(rows: Iterable[Any] | str) -> alt.Chart:
    """Begin a chart of rows, or of data of that name, which is added when it is drawn."""
    return alt.Chart(
        alt.NamedData(name=rows) if isinstance(rows, str) else alt.InlineData(values=list(rows))
    )


def at_least(chart: alt.Chart, floor: float) -> alt.Chart:
    """Raise values to what a logarithmic axis can show."""
    return chart.transform_calculate(v=f"datum.v === null ? null : max(datum.v, {floor})")
