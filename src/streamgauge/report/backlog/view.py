"""A run of backlogs: a row for each trial, and the rates of window methods over their overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from markupsafe import Markup
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.experiments.backlog import BY_METHOD, Backlogs, Chosen, WorkedOff
from streamgauge.report.backlog.charts import charts, panel_chart, panels, picture_of_windows
from streamgauge.report.page.figure import chart_figure
from streamgauge.report.page.markup import join, number, table, tag
from streamgauge.report.terminal.remarks import remarks
from streamgauge.report.view import View
from streamgauge.units import format_count, format_rate, format_size

if TYPE_CHECKING:
    import altair as alt

    from streamgauge.report.page.run_view import RunView

_NONE = "–"
_Cell = tuple[str, float | None]
"""A text, and the number that it shows."""
_CAPTION = "Backlogs worked off; CPU and state are the engine's, state as it reports it"


class BacklogView(View):
    """A run of backlogs."""

    @cached_property
    def backlogs(self) -> Sequence[WorkedOff]:
        """Return what was worked off."""
        return self.answer.worked_off if isinstance(self.answer, Backlogs) else ()

    def terminal(self) -> Iterator[RenderableType]:
        """Show a row for each trial, the model's costs, then what is wrong."""
        if not self.backlogs:
            yield from super().terminal()
            return
        yield _drawn(self._header, [self._cells(each) for each in self.backlogs])
        if self._chosen:
            yield _drawn(self._auto_header, self._auto_rows())
            yield Text(f"  {self._worst()}")
        yield from (Text(f"  {line}") for line in self._costs())
        yield from remarks(self.results, self.record.spec.objectives)

    def trials(self, run: RunView) -> Markup:
        """Show a row for each trial."""
        if not self.backlogs:
            return super().trials(run)
        rows = [[number(*cell) for cell in self._cells(each)] for each in self.backlogs]
        return table(self._header, rows, caption=_CAPTION, class_="trials")

    def findings(self, run: RunView) -> Markup:  # noqa: ARG002
        """Draw rates and state of window methods over their overlap."""
        if not self._has_windows:
            return Markup()
        costs = tag("ul", *(tag("li", line) for line in self._costs()))
        figures = [shown for shown, _ in self._figures()]
        return tag("section", tag("h2", "Window methods"), join(figures), costs, self._auto())

    def data(self, run: RunView) -> Iterator[Markup]:  # noqa: ARG002
        """Yield those charts."""
        if self._has_windows:
            yield from (drawn for _, drawn in self._figures())

    def picture(self, run: RunView) -> alt.TopLevelMixin:
        """Draw them for a page of text."""
        if not self._has_windows or not isinstance(self.answer, Backlogs):
            return super().picture(run)
        return picture_of_windows(self.answer)

    @property
    def _has_windows(self) -> bool:
        return any(each.windows for each in self.backlogs)

    def _figures(self) -> Iterator[tuple[Markup, Markup]]:
        assert isinstance(self.answer, Backlogs)
        for name, shown in charts(self.answer).items():
            for place, panel in enumerate(panels(self.answer)):
                chart = panel_chart(self.answer, name, panel)
                title = f"{panel}: {shown.title}" if panel else shown.title
                yield chart_figure(f"{name}{place}", chart, title, shown.note)

    def _costs(self) -> list[str]:
        """Describe the model's costs."""
        costs = self.answer.costs if isinstance(self.answer, Backlogs) else ()
        return [
            f"{each.method}: {each.record_us:.1f} µs for a record and {each.addition_us:.2f} µs for"
            " each addition explain its rates best"
            for each in costs
        ]

    def _auto(self) -> Markup:
        """Show what `auto` takes in each combination."""
        if not self._chosen:
            return Markup()
        rows = [[number(*cell) for cell in row] for row in self._auto_rows()]
        caption = "The method that auto takes, and its rate divided by that of the best method"
        return join([table(self._auto_header, rows, caption=caption), tag("p", self._worst())])

    @property
    def _chosen(self) -> Sequence[Chosen]:
        return self.answer.auto if isinstance(self.answer, Backlogs) else ()

    @property
    def _auto_header(self) -> list[str]:
        return [*self._queries, *self._factors, "auto takes", "of the best"]

    def _auto_rows(self) -> list[list[_Cell]]:
        return [
            [
                *((each.query, None) for _ in self._queries),
                *(_factor(each.factors.get(name, _NONE)) for name in self._factors),
                (each.method, None),
                _told(each.of_best, "{:.2f}".format),
            ]
            for each in self._chosen
        ]

    def _worst(self) -> str:
        """Say where `auto` takes the method that is furthest from the best one."""
        measured = [(each.of_best, each) for each in self._chosen if each.of_best is not None]
        if not measured:
            return "auto takes methods that were not measured"
        of_best, each = min(measured, key=lambda pair: pair[0])
        where = ", ".join(f"{name}={value}" for name, value in each.factors.items())
        taken = f"auto: {each.method}, {of_best:.2f} of the best"
        return f"worst case: {taken}{f', at {where}' if where else ''}"

    @property
    def _queries(self) -> list[str]:
        return ["query"] if len({each.query for each in self.backlogs}) > 1 else []

    @property
    def _header(self) -> list[str]:
        windows = ["method", "overlap"] if self._has_windows else []
        return [
            *self._queries,
            *self._factors,
            *windows,
            "worked off",
            "CPU per record",
            "state",
            "rows of state",
        ]

    @property
    def _factors(self) -> list[str]:
        names = dict.fromkeys(name for each in self.backlogs for name in each.factors)
        return [name for name in names if name != BY_METHOD]

    def _cells(self, each: WorkedOff) -> list[_Cell]:
        named: Mapping[str, _Cell] = {
            "query": (each.query, None),
            "method": (_method(each), None),
            "overlap": _told(each.windows.overlap if each.windows else None, "{:g}".format),
            "worked off": _told(each.rate, format_rate),
            "CPU per record": _told(each.cpu_us, "{:.1f} µs".format),
            "state": _told(each.state_bytes, format_size),
            "rows of state": _told(each.state_rows, format_count),
            **{name: _factor(text) for name, text in each.factors.items()},
        }
        return [named.get(name, (_NONE, None)) for name in self._header]


def _method(each: WorkedOff) -> str:
    if each.windows is None:
        return _NONE
    chosen = " (auto)" if each.factors.get(BY_METHOD) == "auto" else ""
    return f"{each.windows.method}{chosen}"


def _told(value: float | None, write: Callable[[float], str]) -> _Cell:
    return (_NONE, None) if value is None else (write(value), value)


def _factor(text: str) -> _Cell:
    try:
        return text, float(text)
    except ValueError:
        return text, None


def _drawn(header: Sequence[str], rows: Sequence[Sequence[_Cell]]) -> Table:
    drawn = Table(box=box.MARKDOWN)
    for name in header:
        drawn.add_column(name, justify="right")
    for row in rows:
        drawn.add_row(*(text for text, _ in row))
    return drawn
