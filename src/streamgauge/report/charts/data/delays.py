"""How much later than its trigger each batch began: the scheduler delay."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from streamgauge.report.charts.data.batches import Batch
from streamgauge.report.charts.data.time_frame import Frame
from streamgauge.spec.values import Json
from streamgauge.units import format_duration

NOTICEABLE_MS = 100.0
"""A batch that begins within this time of its trigger began on time."""

Delay = tuple[float, float]
"""When the batch began, in the trial's time in seconds, and its delay in milliseconds."""


def delays(batches: Sequence[Batch], trigger_s: float) -> list[Delay]:
    """Return the delay of each batch but the first, whose trigger is unknown."""
    every_ms = trigger_s * 1000
    return [
        (batch.at_s, batch.began_ms - _due_ms(before, batch, every_ms))
        for before, batch in pairwise(batches)
    ]


def _due_ms(before: Batch, batch: Batch, every_ms: float) -> float:
    """Return the trigger at which a batch was due; triggers are at multiples of their interval.

    It is due at the first trigger after the previous batch began. If the engine was idle at the
    batch's own trigger, it waited for that one.
    """
    first_ms = (before.began_ms // every_ms + 1) * every_ms
    own_ms = batch.began_ms // every_ms * every_ms
    return own_ms if own_ms >= before.began_ms + before.whole_ms else first_ms


def over_time(found: Sequence[Delay], frame: Frame) -> dict[str, Json]:
    """Return the largest delay of each bin."""
    greatest: dict[int, float] = {}
    for at_s, late_ms in found:
        place = int(at_s // frame.bin_s)
        greatest[place] = max(late_ms, greatest.get(place, late_ms))
    bins = sorted(greatest)
    return {
        "t": [place * frame.bin_s for place in bins],
        "delay": [round(greatest[place], 1) for place in bins],
    }


def describe(found: Sequence[Delay], trigger_s: float) -> str:
    """Describe how many batches began late, and by how much."""
    late = [late_ms for _, late_ms in found if late_ms > NOTICEABLE_MS]
    asked = f"Batches were due every {format_duration(trigger_s)}"
    if not late:
        return f"{asked}, and all began on time."
    most = format_duration(max(late) / 1000)
    return f"{asked}; {len(late):,} of {len(found):,} began later, by at most {most}."
