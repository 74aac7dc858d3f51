"""Studies of the broker in the terminal: what it took in, and its append times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.report.study.append_times import drawn_times
from streamgauge.report.study.table import StudyTable
from streamgauge.results.folder import RunFolder
from streamgauge.spec.trial import TrialResult

_ROWS = 12
_COLUMNS = 100


def render(table: StudyTable) -> Iterator[RenderableType]:
    """Show a study: what all trials have in common, then a row for each."""
    yield Text(table.same, style="dim")
    yield _drawn(table)


def charts(folder: RunFolder, results: Sequence[TrialResult]) -> Iterator[Text]:
    """Draw the append times."""
    for result in results:
        for title, steps in drawn_times(folder, result):
            yield Text("\n".join([title, *draw_steps(steps), ""]), style="dim")


def draw_steps(values: Sequence[int], columns: int = _COLUMNS, rows: int = _ROWS) -> list[str]:
    """Draw a rising series as lines of text, the highest first; one line per step if they fit."""
    highest = max(*values, 1)
    rows = min(rows, highest + 1)
    height = [value * (rows - 1) // highest for value in values]
    places = np.arange(len(values)) * columns // len(values)
    lines = [[" "] * columns for _ in range(rows)]
    for place, row in zip(places.tolist(), height, strict=True):
        lines[rows - 1 - row][place] = "▪"
    return ["".join(line).rstrip() for line in lines]


def _drawn(table: StudyTable) -> Table:
    """Draw a table that is also Markdown, to paste elsewhere."""
    drawn = Table(box=box.MARKDOWN)
    for name in table.header:
        drawn.add_column(name, justify="right")
    for row in table.rows:
        drawn.add_row(*(cell.text for cell in row))
    return drawn
