"""How fast an engine works off a backlog that was there before it started."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.measure.behind import Offsets
from streamgauge.measure.statistics import Floats

LEAST_S = 2.0
"""A shorter time is too short to take a rate from."""
_FEWEST_REPORTS = 3
CAUGHT_UP_S = 5.0
"""Less is for watermarks, batches and triggers."""
PEAK_S = 5.0


@dataclass(frozen=True)
class WorkedOff:
    """What was seen while an engine worked off a backlog."""

    records: int
    """Size of the backlog, over all input streams."""
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

    The engine's progress shows it best. For an engine that works off everything in one batch, the
    rate is taken from its outputs. Where those come all at once, too, it is taken from the time
    since its start, which makes the engine look slower than it is.
    """
    return _by_progress(backlog) or _by_outputs(backlog) or _since_start(backlog)


def worked_off_between(backlog: WorkedOff) -> tuple[float, float]:
    """Return the beginning and end of the time that the rate was taken over, in epoch seconds.

    That is the progress between its first and its last step, or all the time from the start on.
    """
    seen, steps = backlog.finished, _steps(backlog)
    if _by_progress(backlog) is not None:
        return float(seen.at_s[steps[0]]), float(seen.at_s[steps[-1]])
    emitted_s = float(backlog.emitted_ms.max(initial=0)) / 1000
    return backlog.started_s, max([emitted_s, *seen.at_s[steps[-1:]].tolist()])


def caught_up_s(behind_s: Floats) -> float | None:
    """Return when an engine was no longer behind, from a series with a step of 1 s.

    None if it was behind to the end.
    """
    over = np.flatnonzero(behind_s > CAUGHT_UP_S)
    first = int(over[-1]) + 1 if len(over) else 0
    return None if first == len(behind_s) else float(first)


def peak_rate(backlog: WorkedOff) -> float | None:
    """Return the most records per second that were worked off over 5 s, over all input streams.

    Without timely progress it is taken from the outputs, unless they wait for a window's end.
    """
    seen = backlog.finished
    if len(_steps(backlog)) >= _FEWEST_REPORTS:
        return _steepest(seen.at_s, seen.total.astype(np.float64))
    if backlog.windowed or not len(backlog.emitted_ms):
        return None
    at_s: Floats = np.sort(backlog.emitted_ms) / 1000.0
    total: Floats = np.linspace(0.0, backlog.records, len(at_s))
    return _steepest(at_s, total)


def _steepest(at_s: Floats, total: Floats) -> float | None:
    """Return the greatest slope between two points that are 5 s apart, or a little more."""
    later = np.searchsorted(at_s, at_s + PEAK_S)
    first = np.flatnonzero(later < len(at_s))
    if not len(first):
        return None
    later = later[first]
    return float(np.max((total[later] - total[first]) / (at_s[later] - at_s[first])))


def _by_progress(backlog: WorkedOff) -> float | None:
    """Take the rate between the first and the last step of the progress."""
    seen, steps = backlog.finished, _steps(backlog)
    if len(steps) < _FEWEST_REPORTS:
        return None
    first, last = steps[0], steps[-1]
    passed_s = float(seen.at_s[last] - seen.at_s[first])
    return float(seen.total[last] - seen.total[first]) / passed_s if passed_s >= LEAST_S else None


def _steps(backlog: WorkedOff) -> npt.NDArray[np.int64]:
    """Return which looks found that more was finished, until all of the backlog was.

    What is finished later are the records that close the last windows: they are sent when the
    backlog has been read.
    """
    total = backlog.finished.total
    steps = np.flatnonzero(np.diff(total, prepend=0) > 0)
    return steps[: np.searchsorted(total[steps], backlog.records) + 1]


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
