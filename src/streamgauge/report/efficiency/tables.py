"""Costs by task and load as rows of text, for terminal and page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamgauge.experiments.efficiency import TOTAL, Line, Point, TaskCost
from streamgauge.units import format_duration, format_rate, format_size

_LEAST = 0.005
"""Share of a task below which it has no row of its own."""


@dataclass(frozen=True)
class CostTable:
    """The points of one query as columns, its tasks as rows."""

    query: str
    header: list[str]
    rows: list[list[str]]


def cost_tables(points: Sequence[Point]) -> Iterator[CostTable]:
    """Yield a table for each query."""
    for query in dict.fromkeys(point.query for point in points):
        of = [point for point in points if point.query == query]
        rows = [_row(name, of) for name in task_names(of)]
        more = [
            ["cores", *(f"{point.cores:.2f}" for point in of)],
            ["mean latency", *(_latency(point) for point in of)],
            ["network per record", *(_network(point) for point in of)],
        ]
        header = ["CPU per record", *places(of)]
        yield CostTable(query, header, [*rows, *more])


def task_names(points: Sequence[Point]) -> list[str]:
    """Return the tasks that matter at any point, by their cost at the last; `total` comes first."""
    shares: dict[str, float] = {}
    for point in points:
        for each in point.tasks:
            shares[each.task] = max(shares.get(each.task, 0.0), each.share)
    last = {each.task: each.cost for each in points[-1].tasks}
    kept = [name for name, share in shares.items() if share >= _LEAST and name != TOTAL]
    return [TOTAL, *sorted(kept, key=lambda name: (-last.get(name, 0.0), name))]


def places(points: Sequence[Point]) -> list[str]:
    """Name points: the rate, what else was varied, and the back ends where they differ."""
    several = len({point.profiled_by for point in points}) > 1
    return [f"{_place(point)}{_by(point.profiled_by) if several else ''}" for point in points]


def _place(point: Point) -> str:
    others = "".join(f", {name}={value}" for name, value in point.factors.items())
    return f"{format_rate(point.rate)}{others}"


def _by(backends: Sequence[str]) -> str:
    return f", by {' and '.join(backends) or 'no back end'}"


def line_rows(lines: Sequence[Line]) -> list[list[str]]:
    """Return a row for each line that is steep enough to be seen."""
    highest = max((each.per_record for each in lines), default=0.0)
    several = len({each.profiled_by for each in lines}) > 1
    return [
        [
            each.query,
            "".join(f"{name}={value} " for name, value in each.factors.items())
            + f"{each.task}{_by(each.profiled_by) if several else ''}",
            format_duration(each.per_record) if each.per_record >= 0 else "falls",
            f"{each.base:.3f}",
            f"{each.r_squared:.4f}",
        ]
        for each in lines
        if abs(each.per_record) >= _LEAST * highest
    ]


def group_name(line: Line) -> str:
    """Name what a line shares with those of other tasks: what was varied besides the load."""
    others = "".join(f"{name}={value}, " for name, value in line.factors.items())
    return f"{others}by {' and '.join(line.profiled_by) or 'no back end'}"


LINE_HEADER = ["query", "task", "per record", "cores at no load", "R²"]


def deviations(points: Sequence[Point]) -> str | None:
    """Describe how much the shares of tasks differ between repeats; None without repeats."""
    found = [
        (each.share_deviation, each.task, place)
        for point, place in zip(points, places(points), strict=True)
        for each in point.tasks
        if each.share_deviation is not None and each.task != TOTAL
    ]
    if not found:
        return None
    worst, task, where = max(found)
    middle = sorted(value for value, _, _ in found)[len(found) // 2]
    return (
        f"standard deviation of a task's share over the repeats: {100 * middle:.2f} percentage"
        f" points in the median, {100 * worst:.2f} at most ({task} at {where})"
    )


def _row(name: str, points: Sequence[Point]) -> list[str]:
    return [name, *(_cell(next((t for t in p.tasks if t.task == name), None)) for p in points)]


def _cell(cost: TaskCost | None) -> str:
    if cost is None:
        return "–"
    share = "" if cost.task == TOTAL else f" ({cost.share:.0%})"
    return f"{format_duration(cost.cost)}{share}"


def _latency(point: Point) -> str:
    return "–" if point.latency_s is None else format_duration(point.latency_s)


def _network(point: Point) -> str:
    return "–" if point.network is None else format_size(point.network)
