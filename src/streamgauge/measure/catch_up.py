"""How fast an engine works off a backlog that lay there before it started."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.measure.behind import Offsets

LEAST_S = 2.0
"""What passes in less is too short to take a rate from."""
_FEWEST_REPORTS = 3


@dataclass(frozen=True)
class WorkedOff:
    """What was seen while an engine worked off a backlog."""

    records: int
    """How many lay there, over all input streams."""
    started_s: float
    """When the engine was started, epoch seconds."""
    finished: Offsets
    """Its progress, as it was seen at certain times; empty when it reported none."""
    emitted_ms: npt.NDArray[np.int64]
    """Append times of its outputs."""
    drained: bool
    windowed: bool = False
    """Whether outputs wait for the end of a window, so that they all come at the end."""


def catch_up_rate(backlog: WorkedOff) -> float | None:
    """Return records per second over all input streams; None when nothing was worked off.

    The engine's progress tells it best. An engine that works off everything in one batch tells it
    by its outputs. Where those come all at once, too, the time since its start is left, which
    makes it look slower than it is.
    """
    return _by_progress(backlog.finished) or _by_outputs(backlog) or _since_start(backlog)


def _by_progress(seen: Offsets) -> float | None:
    """Take the rate between the first and the last step of the progress."""
    steps = np.flatnonzero(np.diff(seen.total, prepend=0) > 0)
    if len(steps) < _FEWEST_REPORTS:
        return None
    first, last = steps[0], steps[-1]
    passed_s = float(seen.at_s[last] - seen.at_s[first])
    return float(seen.total[last] - seen.total[first]) / passed_s if passed_s >= LEAST_S else None


def _by_outputs(backlog: WorkedOff) -> float | None:
    if not backlog.drained or backlog.windowed or len(backlog.emitted_ms) == 0:
        return None
    passed_s = float(backlog.emitted_ms.max() - backlog.emitted_ms.min()) / 1000
    return backlog.records / passed_s if passed_s >= LEAST_S else None


def _since_start(backlog: WorkedOff) -> float | None:
    """Divide what was finished by all the time that passed until then."""
    seen = backlog.finished
    done, end_s = (int(seen.total[-1]), float(seen.at_s[-1])) if len(seen.total) else (0, 0.0)
    if done:
        end_s = float(seen.at_s[np.argmax(seen.total == done)])
    elif backlog.drained and len(backlog.emitted_ms):
        done, end_s = backlog.records, float(backlog.emitted_ms.max()) / 1000
    return done / (end_s - backlog.started_s) if done and end_s > backlog.started_s else None
