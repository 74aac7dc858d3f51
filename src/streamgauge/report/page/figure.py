"""The frame of a chart in a page: title, note, legend, and the place where it is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
from markupsafe import Markup

from streamgauge.report.charts.style import SIGNS
from streamgauge.report.charts.theme import spec_of
from streamgauge.report.page.legend import line_key, sign_key
from streamgauge.report.page.markup import data, tag


def figure(title: str, note: Markup, *legend: Markup, **attributes: str | None) -> Markup:
    """Make the frame of a chart, which stays hidden until there is something to draw."""
    caption = tag("figcaption", tag("h3", title), note, tag("ul", *legend, class_="legend"))
    place = tag(
        "div",
        class_="chart",
        tabindex="0",
        role="group",
        aria_roledescription="chart",
        aria_label=title,
    )
    return tag("figure", caption, place, hidden=True, **attributes)


def chart_figure(
    name: str, chart: alt.TopLevelMixin, title: str, note: str
) -> tuple[Markup, Markup]:
    """Make the figure of a chart in a page, and the data that the page's script draws there.

    The legend is the page's, made from the chart's own scales.
    """
    spec = spec_of(chart)
    spec["config"]["legend"] = {"disable": True}
    text = tag("p", note, class_="aside") if note else Markup()
    return figure(title, text, *_keys(_scales(spec)), data_spec=name), data(name, spec)


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
