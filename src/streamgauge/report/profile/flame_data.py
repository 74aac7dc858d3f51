"""The boxes of a flame graph, in a compact form for the page's script."""

from __future__ import annotations

import numpy as np

from streamgauge.profiling.flame import flame
from streamgauge.profiling.tasks import assign
from streamgauge.report.charts.style import PALETTE, QUIET
from streamgauge.report.profile.profiled import Profiled
from streamgauge.spec.values import Json

_WHOLE = 1_000_000
"""The width of everything."""


def flame_data(of: Profiled) -> dict[str, Json]:
    """Return boxes with their CPU time, in millionths of the total."""
    assigned = assign(of.profile.stacks, of.tasks, of.profile.plan)
    made = flame(of.profile.stacks, assigned.task, len(assigned.tasks), of.profile.weights)
    scale = _WHOLE / made.total if made.total else 0.0
    by_task = np.rint(made.by_task * scale).astype(np.int64)
    rows, columns = np.nonzero(by_task)
    parts: list[list[int]] = [[] for _ in made.name]
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        parts[row] += [column, int(by_task[row, column])]
    return {
        "names": list(made.names),
        "name": made.name.tolist(),
        "parent": made.parent.tolist(),
        "parts": [*parts],
        "tasks": list(assigned.tasks),
        "colours": [colours(of).get(task, QUIET) for task in assigned.tasks],
        "seconds": of.told.cpu_s,
        "events": of.events,
    }


def colours(of: Profiled) -> dict[str, str]:
    """Return the colours of the most expensive tasks; the others share a quiet one."""
    names = [row.task for row in of.rows()]
    bright = [each for each in PALETTE if each != QUIET]
    return dict(zip(names, bright, strict=False))
