"""A page in one file: its style, its charts and the JavaScript that draws them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from streamgauge.files import write_for_user

# Okabe and Ito's colours, the light ones darkened: each stands out from white and from black.
PALETTE = ("#1f7fc0", "#d55e00", "#009e73", "#b5599a", "#b98900", "#7d8590", "#5b6fd6", "#a0522d")
_SHORT_NAME = 16
GOOD, BAD, NEUTRAL = "#009e73", "#d55e00", "#7d8590"

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --dim: #57606a; --line: #d8dde3;
  --paper: #fff; --box: #f6f8fa; --good: #00744f; --bad: #b34700; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9198a1; --line: #3d444d;
  --paper: #0d1117; --box: #151b23; --good: #2fcf9e; --bad: #ff9142; } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 68rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25 } h2 { font-size: 1.2rem; margin: 2.2rem 0 .3rem }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem }
h1, h2, h3, p, li { overflow-wrap: anywhere }
.dim, figcaption { color: var(--dim) } figcaption { font-size: .9rem }
figure { margin: .5rem 0 1rem } .chart { width: 100%; overflow-x: auto }
.refused { border-left: 4px solid var(--bad); background: var(--box); padding: .5rem .8rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .92rem }
th, td { text-align: right; padding: .25rem .7rem; border-bottom: 1px solid var(--line);
  white-space: nowrap; font-variant-numeric: tabular-nums }
th { color: var(--dim); font-weight: 600 }
th:first-child, td:first-child, .verdict { text-align: left }
.good { color: var(--good); font-weight: 600 } .bad { color: var(--bad); font-weight: 600 }
summary { cursor: pointer; padding: .3rem 0 }
.vega-embed svg text { fill: var(--ink) !important }
.vega-embed svg .role-axis text, .vega-embed svg .role-legend text { fill: var(--dim) !important }
.vega-embed svg .role-axis-grid line { stroke: var(--line) !important }
@media print { body { max-width: none } details > * { display: block } }
"""
_DRAW = """
const drawn = [...document.querySelectorAll(".chart")].map(place => {
  const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
  return vegaEmbed(place, spec, {renderer: "svg", actions: false}).catch(error => {
    place.textContent = "This chart could not be drawn: " + error.message;
    console.error(error);
  });
});
Promise.all(drawn).then(() => { document.documentElement.dataset.ready = ""; });
"""


def page(title: str, body: Sequence[str], charts: Mapping[str, alt.TopLevelMixin]) -> str:
    """Put a page together.

    Args:
        title: Of the window.
        body: Markup; where it says `figure(name, …)` a chart is drawn.
        charts: Charts by name.
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    ready = "" if charts else " data-ready"
    parts = [
        f'<!doctype html><html lang="en"{ready}><head>{head}<style>{_STYLE}</style></head><body>'
    ]
    parts += body
    parts += [_data(name, chart.to_dict()) for name, chart in charts.items()]
    if charts:
        parts.append(f'<script type="module">{_script()}</script>')
    return "\n".join([*parts, "</body></html>"]) + "\n"


def write_page(
    file: Path, title: str, body: Sequence[str], charts: Mapping[str, alt.TopLevelMixin]
) -> None:
    """Write a page whole or not at all."""
    write_for_user(file, page(title, body, charts))


def element(name: str, text: str, class_: str = "") -> str:
    """Make an element that holds a text."""
    attribute = f' class="{escape(class_)}"' if class_ else ""
    return f"<{name}{attribute}>{escape(text)}</{name}>"


def figure(name: str, caption: str) -> str:
    """Make the place of a chart."""
    return (
        f'<figure><div class="chart" role="img" aria-label="{escape(caption)}"'
        f' data-spec="{escape(name)}"></div>{element("figcaption", caption)}</figure>'
    )


def configured(chart: alt.TopLevelMixin, names: Iterable[str]) -> alt.TopLevelMixin:
    """Give a chart the looks that all charts share; text and grid take the page's colours.

    Args:
        chart: The chart.
        names: What its legend says; long names get a line each.
    """
    columns = 3 if max(map(len, names), default=0) <= _SHORT_NAME else 1
    looks: alt.TopLevelMixin = (
        chart.configure(
            background="transparent", font="system-ui, -apple-system, 'Segoe UI', sans-serif"
        )
        .configure_view(stroke=None)
        .configure_axis(domain=False, ticks=False, labelFontSize=11, titleFontWeight="normal")
        .configure_legend(orient="bottom", title=None, labelLimit=340, columns=columns)
    )
    return looks


def _data(name: str, spec: Mapping[str, Any]) -> str:
    """Put a chart into the page; no text in it can end the element."""
    text = json.dumps(spec, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{escape(name)}">{text}</script>'


@cache
def _script() -> str:
    """Return Vega, Vega-Lite and Vega-Embed, which come with the package, and what draws."""
    major, minor = alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    return vl_convert.javascript_bundle(_DRAW, f"v{major}.{minor}")
