"""Colours, dashes, signs and words that all charts share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Unit = Literal["ms", "s", "records", "1/s", "cores", "GiB", "MiB/s", ""]

# Okabe and Ito's colours, the light ones darkened: each stands out from white and from black.
PALETTE = ("#1f7fc0", "#d55e00", "#009e73", "#b5599a", "#b98900", "#7d8590", "#5b6fd6", "#a0522d")
QUIET = "#7d8590"
LOUD = "#d55e00"
GOOD, BAD, NEUTRAL = PALETTE[2], PALETTE[1], QUIET
DASHES: tuple[tuple[int, ...], ...] = ((), (6, 3), (2, 2), (8, 3, 2, 3))
SIGNS = {
    "circle": "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "square": "M-.9,-.9L.9,-.9L.9,.9L-.9,.9Z",
    "up": "M0,-1.1L1.15,.9L-1.15,.9Z",
    "down": "M0,1.1L1.15,-.9L-1.15,-.9Z",
    "diamond": "M0,-1.2L1.2,0L0,1.2L-1.2,0Z",
    "cross": "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z",
}
"""SVG paths around the origin, from -1 to 1, which Vega takes as shapes."""
FLOOR_MS = 0.5
"""Where a logarithmic axis shows values below the clock's resolution of a millisecond."""
PLAIN = "format(datum.value, '~r')"
LABELS: Mapping[Unit, str] = {
    "ms": f"datum.value < 1000 ? {PLAIN} + ' ms' : format(datum.value / 1000, '~r') + ' s'",
    "s": f"{PLAIN} + ' s'",
    "records": f"datum.value < 1000 ? {PLAIN} : format(datum.value, '~s')",
    "1/s": f"(datum.value < 1000 ? {PLAIN} : format(datum.value, '~s')) + '/s'",
    "cores": PLAIN,
    "GiB": f"{PLAIN} + ' GiB'",
    "MiB/s": f"{PLAIN} + ' MiB/s'",
    "": PLAIN,
}
"""The labels of an axis, as Vega expressions."""
LOG_MS = f"datum.value < 1 ? '< 1 ms' : ({LABELS['ms']})"
"""The same for latencies on a logarithmic axis."""
PERCENT = (
    "datum.value == 0 ? '0' : datum.value < 1 ? '50 %'"
    " : format(100 - 100 * pow(10, -datum.value), '~r') + ' %'"
)
NINES = (0, 0.30103, *range(1, 9))
"""Where the median and each further nine are on an axis of percentiles."""
