"""The entries of a chart's legend, in HTML, where they wrap and follow the page's colours."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from streamgauge.report.page.markup import tag


def sign_key(colour: str, path: str, says: str) -> Markup:
    """Make the entry of something drawn as a sign."""
    return tag("li", sign(colour, path), says)


def sign(colour: str, path: str) -> Markup:
    """Draw a sign as large as a letter."""
    shape = tag("path", d=path, fill=colour)
    return tag(
        "svg", shape, class_="sign-of-trial", viewBox="-1.2 -1.2 2.4 2.4", aria_hidden="true"
    )


def line_key(colour: str, says: str, dash: Sequence[int] = ()) -> Markup:
    """Make the entry of something drawn as a line."""
    line = tag(
        "line",
        x2="22",
        y1="5",
        y2="5",
        stroke=colour,
        stroke_width="2.5",
        stroke_dasharray=" ".join(map(str, dash)) or None,
    )
    return tag("li", tag("svg", line, width="22", height="10", aria_hidden="true"), says)
