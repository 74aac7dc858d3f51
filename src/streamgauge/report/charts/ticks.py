"""Round numbers for logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

FEWEST_TICKS = 4
STEPS: Sequence[Sequence[float]] = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 4, 5, 6, 8),
    (1, 1.2, 1.4, 1.6, 1.8, *(halves / 2 for halves in range(4, 20))),
    [tenths / 10 for tenths in range(10, 100)],
)
"""Labels of a logarithmic axis for each power of ten: from far apart to close together."""


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers in a range: as far apart as possible, but enough of them."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in STEPS:
        found = [step * 10.0**power for power in powers for step in steps]
        if len(inside := [each for each in found if low <= each <= high]) >= FEWEST_TICKS:
            break
    return inside
