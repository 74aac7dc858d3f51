"""How a run that asks for the cost of events is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from markupsafe import Markup
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.experiments.efficiency import Efficiency, Line, Point
from streamgauge.report.efficiency.charts import (
    cost_chart,
    lines_chart,
    network_chart,
    picture_of_costs,
)
from streamgauge.report.efficiency.tables import (
    LINE_HEADER,
    cost_tables,
    deviations,
    line_rows,
)
from streamgauge.report.page.figure import chart_figure
from streamgauge.report.page.markup import join, table, tag
from streamgauge.report.view import View
from streamgauge.spec.trial import TrialResult
from streamgauge.units import format_duration, format_rate

if TYPE_CHECKING:
    import altair as alt

    from streamgauge.report.page.run_view import RunView

_COSTS = "CPU time per input record, by task; means over the repeats."
_SHARES = "The same as shares of all CPU time."
_LINES = "CPU time per second, by task; points are loads, lines are fitted by least squares."
_NETWORK = "Bytes through all network interfaces of this machine per input record, both ways."


class EfficiencyView(View):
    """Costs by task and load."""

    @cached_property
    def points(self) -> Sequence[Point]:
        """Return what was concluded about each trial."""
        return self.answer.points if isinstance(self.answer, Efficiency) else ()

    def terminal(self) -> Iterator[RenderableType]:
        """Show the trials, then what events cost."""
        yield from super().terminal()
        for each in cost_tables(self.points):
            yield Text(f"\n{each.query}", style="bold")
            yield _drawn(each.header, each.rows)
        if rows := self._lines():
            yield Text("\nCPU time as a line over the load", style="bold")
            yield _drawn(LINE_HEADER, rows)
        if spread := deviations(self.points):
            yield Text(f"  {spread}")
        if self.points:
            yield Text(f"  each trial: streamgauge tasks {self.record.id}", style="dim")

    def profiled(self) -> Sequence[TrialResult]:
        """Return no trials where a table has them all."""
        return () if self.points else self.results

    def sentence(self) -> str:
        """Say what an event costs."""
        if not self.points:
            return super().sentence()
        last = self.points[-1]
        total, *tasks = last.tasks
        dearest = f", most of it for {tasks[0].task} ({tasks[0].share:.0%})" if tasks else ""
        cost = (
            f"At {format_rate(last.rate)} a record of {last.query} costs"
            f" {format_duration(total.cost)} of CPU time{dearest}."
        )
        return " ".join([*(stamp.sentence for stamp in self.stamps()), cost])

    def findings(self, run: RunView) -> Markup:
        """Draw costs and shares over the load."""
        if not self.points:
            return Markup()
        figures = [shown for _, shown, _ in self._charts(run)]
        tables = [
            table(each.header, each.rows, caption=f"CPU time per record of {each.query}")
            for each in cost_tables(self.points)
        ]
        if rows := self._lines():
            tables.append(table(LINE_HEADER, rows, caption="CPU time as a line over the load"))
        spread = deviations(self.points)
        last = tag("p", spread, class_="aside") if spread else Markup()
        return tag("section", tag("h2", "What an event costs"), join([*figures, *tables, last]))

    def data(self, run: RunView) -> Iterator[Markup]:
        """Yield the charts."""
        yield from (drawn for _, _, drawn in self._charts(run))

    def picture(self, run: RunView) -> alt.TopLevelMixin:
        """Draw the cost of a record over the load, for a page of text."""
        if not isinstance(self.answer, Efficiency) or not self.points:
            return super().picture(run)
        return picture_of_costs(self.answer)

    def _lines(self) -> list[list[str]]:
        return line_rows(self._fitted())

    def _fitted(self) -> Sequence[Line]:
        return self.answer.lines if isinstance(self.answer, Efficiency) else ()

    def _charts(self, run: RunView) -> Iterator[tuple[str, Markup, Markup]]:
        for place, query in enumerate(dict.fromkeys(point.query for point in self.points)):
            of = [point for point in self.points if point.query == query]
            lines = [line for line in self._fitted() if line.query == query]
            for name, chart, note in _drawn_of(of, lines):
                title = f"{query}: {name}"
                yield title, *chart_figure(f"{run.name}-{name}-{place}", chart, title, note)


def _drawn_of(
    points: Sequence[Point], lines: Sequence[Line]
) -> Iterator[tuple[str, alt.TopLevelMixin, str]]:
    yield "cost", cost_chart(points), _COSTS
    yield "shares", cost_chart(points, shares=True), _SHARES
    if (fitted := lines_chart(points, lines)) is not None:
        yield "lines", fitted, _LINES
    if (network := network_chart(points)) is not None:
        yield "network", network, _NETWORK


def _drawn(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    drawn = Table(box=box.MARKDOWN)
    for place, name in enumerate(header):
        drawn.add_column(name, justify="right" if place else "left")
    for row in rows:
        drawn.add_row(*row)
    return drawn
