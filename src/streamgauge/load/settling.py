"""Wait for a number that grows for a while: log ends, the cores of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable

_LOOK_S = 0.1


def until_still(
    look: Callable[[], int],
    *,
    still_s: float,
    most_s: float,
    enough: int | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Return a number once it is above 0 and has stood still or is enough, or its last value.

    Args:
        look: Returns the number.
        still_s: How long it must not change.
        most_s: How long to wait at most, not counting the looks themselves.
        enough: The number at which waiting ends.
        sleep: Waits.
    """
    found, since_s = look(), 0.0
    for _ in range(round(most_s / _LOOK_S)):
        if (found > 0 and since_s >= still_s) or (enough is not None and found >= enough):
            break
        sleep(_LOOK_S)
        now = look()
        since_s = since_s + _LOOK_S if now == found else 0.0
        found = now
    return found
