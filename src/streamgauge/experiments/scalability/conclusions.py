"""Conclude from the trials of a search over a grid, with the reasons to doubt it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from streamgauge.errors import Unmeasured
from streamgauge.experiments.scalability.answer import Cost, Drift, Point, Search, Tried
from streamgauge.experiments.scalability.explain import explain
from streamgauge.experiments.scalability.grid import (
    Cell,
    Grid,
    Known,
    Optimum,
    Outcome,
    contradictions,
)
from streamgauge.experiments.scalability.judge import is_invalid
from streamgauge.experiments.scalability.ladder import Ladder
from streamgauge.measure.sustained import decide
from streamgauge.measure.verdicts import NOT_KEPT_EXIT_CODE
from streamgauge.spec.trial import TrialResult

if TYPE_CHECKING:
    from streamgauge.experiments.scalability.experiment import Course

HOURS_PER_MONTH = 730.0
_MILLION = 1e6
_CHANGED = 0.1
"""A machine has changed when the CPU time per record changed by at least this share."""


def conclude(
    query: str, grid: Grid, ladders: tuple[Ladder, Ladder], course: Course, price: float | None
) -> Search:
    """Sum up the search for one query, as far as it has come."""
    found = grid.found(course.known)
    tried = {cell: _tried(cell, ladders, course) for cell in course.judged}
    points = tuple(_points(grid, ladders, found, course.known))
    return Search(
        query=query,
        points=points,
        tried=tuple(tried.values()),
        contradictions=tuple(_contradictions(ladders, course.known)),
        disagreements=tuple(filter(None, map(_disagreement, tried.values()))),
        drift=_drift(course),
        costs=tuple(_costs(grid, found, tried, price)),
        conclusion=_conclusion(grid, ladders, points),
        explained=explain(points, ladders[1].factor, ladders[0].factor)
        if grid.metric == "capacity"
        else None,
    )


def exit_code_of(found: Sequence[Optimum]) -> int:
    """Return 0 when anything passes, 1 when nothing does, 4 where the harness was the limit."""
    if any(each.place is not None for each in found):
        return 0
    stopped = any(each.limit == "harness" for each in found)
    return Unmeasured.exit_code if stopped else NOT_KEPT_EXIT_CODE


def _tried(cell: Cell, ladders: tuple[Ladder, Ladder], course: Course) -> Tried:
    judged, results = course.judged[cell], course.cells[cell]
    usable = [result for result in results if not is_invalid(result)]
    return Tried(
        load=ladders[0].values[cell[0]],
        resources=ladders[1].values[cell[1]],
        outcome=judged.outcome,
        reason=judged.reason,
        values=judged.values,
        bounds=judged.bounds,
        trials=tuple(result.spec.number for result in results),
        cut=tuple(result.spec.number for result in results if result.cut_s is not None),
        sustained=_sustained(usable),
        rate=_median(usable, "rate.offered"),
        cores=_median(usable, "resources.cores"),
        cpu_s_per_million=_per_million(usable),
    )


def _sustained(results: Sequence[TrialResult]) -> Outcome:
    """Decide by our own rule: it must hold each time."""
    outcomes = {decide(result).outcome for result in results}
    if "fail" in outcomes:
        return "fail"
    return "pass" if outcomes == {"pass"} else "untold"


def _median(results: Sequence[TrialResult], name: str) -> float | None:
    values = [result.metrics[name] for result in results if name in result.metrics]
    return median(values) if values else None


def _per_million(results: Sequence[TrialResult]) -> float | None:
    """Return the engine's CPU seconds per million records."""
    names = ("cpu.engine", "rate.offered")
    both = [r.metrics for r in results if all(name in r.metrics for name in names)]
    return median(m["cpu.engine"] / m["rate.offered"] * _MILLION for m in both) if both else None


def _points(
    grid: Grid, ladders: tuple[Ladder, Ladder], found: Sequence[Optimum], known: Known
) -> Iterator[Point]:
    asked, given = ladders if grid.metric == "demand" else ladders[::-1]
    for line, optimum in enumerate(found):
        place = optimum.place
        failed = [
            step
            for step in range(len(given.values))
            if known.get(grid.cell(line, step)) == "fail" and (place is None or step > place)
        ]
        capacity = grid.metric == "capacity" and failed
        yield Point(
            at=asked.values[line],
            size=asked.sizes[line],
            found=None if place is None else given.values[place],
            found_size=None if place is None else given.sizes[place],
            beyond_size=given.sizes[failed[0]] if capacity else None,
            limit=optimum.limit,
        )


def _contradictions(ladders: tuple[Ladder, Ladder], known: Known) -> Iterator[str]:
    for passed, failed in contradictions(known):
        easier = f"{_named(failed, ladders)}, which is easier,"
        yield f"{_named(passed, ladders)} passed, but {easier} failed"


def _named(cell: Cell, ladders: tuple[Ladder, Ladder]) -> str:
    load, resources = (
        f"{ladder.factor}={ladder.values[place]}"
        for ladder, place in zip(ladders, cell, strict=True)
    )
    return f"{load} with {resources}"


def _disagreement(tried: Tried) -> str | None:
    if "untold" in (tried.outcome, tried.sustained) or tried.outcome == tried.sustained:
        return None
    words = {"pass": "passes", "fail": "fails"}
    return (
        f"{tried.load} with {tried.resources} {words[tried.outcome]} by the objectives and"
        f" {words[tried.sustained]} by our rule of sustained throughput"
    )


def _drift(course: Course) -> Drift | None:
    again = course.again
    if again is None:
        return None
    (first, *_), *_ = course.cells.values()
    before, after = _per_million([first]), _per_million([again])
    if before is None or after is None:
        finding = "the first trial was repeated at the end, but its CPU time is not known twice"
    else:
        change = after / before - 1
        same = (
            "the machine has hardly changed"
            if abs(change) < _CHANGED
            else "the machine has changed, so results near a bound are doubtful"
        )
        finding = (
            f"{same}: when the first trial was repeated, its CPU time per record changed by"
            f" {100 * change:+.0f} %"
        )
    return Drift(trial=again.spec.number, first=first.spec.number, told=finding)


def _costs(
    grid: Grid, found: Sequence[Optimum], tried: dict[Cell, Tried], price: float | None
) -> Iterator[Cost]:
    for line, optimum in enumerate(found):
        if optimum.place is None:
            continue
        best = tried[grid.cell(line, optimum.place)]
        if best.cores is None or not best.rate:
            continue
        per_hour = None if price is None else price * best.cores
        yield Cost(
            load=best.load,
            resources=best.resources,
            cores=best.cores,
            cpu_s_per_million=best.cpu_s_per_million,
            per_million=None if per_hour is None else per_hour / 3600 / best.rate * _MILLION,
            per_month=None if per_hour is None else per_hour * HOURS_PER_MONTH,
        )


def _conclusion(grid: Grid, ladders: tuple[Ladder, Ladder], points: Sequence[Point]) -> str:
    if all(point.limit is None and point.found is None for point in points):
        return "not known yet: the search is not over"
    asked, given = ladders if grid.metric == "demand" else ladders[::-1]
    found = ", ".join(f"{point.at}: {_told(point, grid)}" for point in points)
    return f"{grid.metric} in {given.factor} for {asked.factor} {found}"


def _told(point: Point, grid: Grid) -> str:
    if point.limit is None:
        return "not known yet"
    if point.found is None:
        if point.limit == "harness":
            return "unknown (the harness was the limit)"
        return "more than was tried" if grid.metric == "demand" else "less than was tried"
    if grid.metric == "demand":
        return point.found
    if point.limit == "harness":
        return f"at least {point.found} (the harness was the limit beyond)"
    return f"at least {point.found} (the greatest tried)" if point.limit == "list" else point.found
