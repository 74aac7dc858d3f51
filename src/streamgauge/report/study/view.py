"""How studies of the broker are shown: a row for each trial, named by the ways to send."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from markupsafe import Markup
from rich.console import RenderableType

from streamgauge.report.page.markup import number, table
from streamgauge.report.study import append_times, terminal
from streamgauge.report.study.table import APPEND_TIMES, INTAKE, Column, study_table
from streamgauge.report.terminal.remarks import remarks
from streamgauge.report.view import View

if TYPE_CHECKING:
    from streamgauge.report.page.run_view import RunView


class BrokerView(View):
    """A study of what the broker takes in."""

    columns: ClassVar[Sequence[Column]] = INTAKE

    def terminal(self) -> Iterator[RenderableType]:
        """Show a row for each trial, then what is wrong."""
        yield from terminal.render(study_table(self.columns, self.results))
        yield from self._below()
        yield from remarks(self.results, self.record.spec.objectives)

    def trials(self, run: RunView) -> Markup:  # noqa: ARG002  # has no charts to lead to
        """Show a row for each trial."""
        study = study_table(self.columns, self.results)
        rows = [[number(cell.text, cell.value) for cell in row] for row in study.rows]
        caption = f"Trials; {study.same}" if study.same else "Trials"
        return table(study.header, rows, caption=caption, class_="trials") if rows else Markup()

    def _below(self) -> Iterator[RenderableType]:
        yield from ()


class AppendTimeView(BrokerView):
    """A study of append times, which draws them."""

    columns: ClassVar[Sequence[Column]] = APPEND_TIMES

    def details(self, run: RunView) -> Markup:
        """Draw those of the trials that have charts."""
        return append_times.section(run)

    def _below(self) -> Iterator[RenderableType]:
        yield from terminal.charts(self.folder, self.results)
