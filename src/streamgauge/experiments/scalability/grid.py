"""The search over a grid of loads and resources: which cell is next, and what was found.

Pure functions of the cells that are known, so that an interrupted search can continue.
Theodolite (Henning and Hasselbring, 2022) defines both questions: the demand of a load is the least
resources with which it passes, the capacity of resources is the greatest load that passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Metric = Literal["demand", "capacity"]
Strategy = Literal["full", "linear", "binary"]
Begin = Literal["lower-bound", "guess", "nothing"]
Outcome = Literal["pass", "fail", "untold"]
Limit = Literal["engine", "harness", "list"]
Cell = tuple[int, int]
"""Places of a load and of resources in their lists."""
Known = Mapping[Cell, Outcome]


@dataclass(frozen=True)
class Optimum:
    """What was found at one place of the list that the question is asked for."""

    place: int | None
    """In the other list; None where nothing there passed."""
    limit: Limit | None
    """What keeps it from being better: the engine, the harness, or the end of the list. None while
    the search goes on."""


@dataclass(frozen=True)
class Grid:
    """One search: a line for each load (demand) or for each of the resources (capacity)."""

    loads: int
    resources: int
    metric: Metric = "demand"
    strategy: Strategy = "linear"
    begin: Begin = "lower-bound"

    def next(self, known: Known) -> Cell | None:
        """Return what to try next; None when the search is over."""
        return next(filter(None, (self._next_of(line, known) for line in range(self.lines))), None)

    def found(self, known: Known) -> list[Optimum]:
        """Return what was found on each line, as far as the search has come."""
        return [self._optimum(line, known) for line in range(self.lines)]

    @property
    def lines(self) -> int:
        """How many places the question is asked for."""
        return self.loads if self.metric == "demand" else self.resources

    @property
    def most(self) -> int:
        """How many cells a search may have to try."""
        steps = self.resources if self.metric == "demand" else self.loads
        if self.strategy == "binary":
            guessed = 1 if self.begin == "guess" else 0
            return self.lines * min(steps, math.ceil(math.log2(steps + 1)) + guessed)
        if self.strategy == "linear" and self.begin == "lower-bound":
            again = self.lines - 1 if self.metric == "capacity" else 0
            return min(self.lines + steps - 1 + again, self.lines * steps)
        return self.lines * steps

    def cell(self, line: int, step: int) -> Cell:
        """Return the cell at that step of a line."""
        return (line, step) if self.metric == "demand" else (step, line)

    def _next_of(self, line: int, known: Known) -> Cell | None:
        step = self._step(line, known)
        return None if step is None else self.cell(line, step)

    def _step(self, line: int, known: Known) -> int | None:
        steps, outcomes = self._candidates(line, known), self._told(line, known)
        first = self._first(line, steps, known)
        if self.strategy == "full":
            after = [] if first is None else [*steps[steps.index(first) :]]
            return next((step for step in (*after, *steps) if step not in outcomes), None)
        if self.strategy == "binary":
            return self._bisected(steps, outcomes, first)
        return self._walked(steps, outcomes, first)

    def _first(self, line: int, steps: Sequence[int], known: Known) -> int | None:
        """Return the step to begin with, where that is not an end of the line.

        What passed with fewer resources is tried again only if nothing above it passes.
        """
        before = self._before(line, known)
        if self.begin == "guess":
            return before if before in steps else None
        if self.begin == "nothing" or self.metric == "demand" or self.strategy != "linear":
            return None
        return steps[1] if before is not None and len(steps) > 1 else None

    def _candidates(self, line: int, known: Known) -> Sequence[int]:
        """Return the steps of a line that are worth a trial."""
        least, most = 0, self._steps
        if self.begin == "lower-bound":
            least = self._bound(line, known)
        if (cap := self._cap(line, known)) is not None:
            if self.metric == "demand":
                return ()
            most = cap
        return range(least, most)

    def _bound(self, line: int, known: Known) -> int:
        """Return where a line begins: more load needs no less, and more resources carry no less."""
        best = [self._best(before, known) for before in range(line)]
        if self.metric == "demand" and best and best[-1] is None:
            return self._steps
        return max((place for place in best if place is not None), default=0)

    def _cap(self, line: int, known: Known) -> int | None:
        """Return the lowest load at which an earlier line was stopped by the harness."""
        earlier = (self.cell(before, step) for before in range(line) for step in range(self._steps))
        return min((cell[0] for cell in earlier if known.get(cell) == "untold"), default=None)

    def _walked(
        self, steps: Sequence[int], told: Mapping[int, Outcome], first: int | None
    ) -> int | None:
        """Walk up until the outcome changes; from a guess also down, if the outcome says so."""
        demand = self.metric == "demand"
        way, until_pass = steps, demand
        if first is not None:
            if first not in told:
                return first
            down = (told[first] == "pass") == demand
            place = steps.index(first)
            way = [*reversed(steps[:place])] if down else steps[place + 1 :]
            until_pass = told[first] != "pass"
        for step in way:
            if step not in told:
                return step
            if (told[step] == "pass") == until_pass or (demand and told[step] == "untold"):
                return None
        return None

    def _bisected(
        self, steps: Sequence[int], told: Mapping[int, Outcome], first: int | None
    ) -> int | None:
        demand = self.metric == "demand"
        low, high = 0, len(steps) - 1
        middle = (low + high + (not demand)) // 2 if first is None else steps.index(first)
        while low <= high:
            step = steps[middle]
            if step not in told or (demand and told[step] == "untold"):
                return None if step in told else step
            if (told[step] == "pass") == demand:
                high = middle - 1
            else:
                low = middle + 1
            middle = (low + high + (not demand)) // 2
        return None

    def _optimum(self, line: int, known: Known) -> Optimum:
        best, outcomes = self._best(line, known), self._told(line, known)
        if self._step(line, known) is not None:
            return Optimum(best, None)
        stopped = "untold" in outcomes.values() or self._cap(line, known) is not None
        if self.metric == "demand":
            return Optimum(best, "harness" if best is None and stopped else "engine")
        above = [outcomes[step] for step in outcomes if best is None or step > best]
        if "fail" in above:
            return Optimum(best, "engine")
        return Optimum(best, "harness" if stopped else "list")

    def _best(self, line: int, known: Known) -> int | None:
        passed = [step for step, found in self._told(line, known).items() if found == "pass"]
        return (min if self.metric == "demand" else max)(passed, default=None)

    def _before(self, line: int, known: Known) -> int | None:
        """Return the optimum of the nearest earlier line that has one."""
        best = (self._best(before, known) for before in reversed(range(line)))
        return next((place for place in best if place is not None), None)

    def _told(self, line: int, known: Known) -> dict[int, Outcome]:
        cells = ((step, self.cell(line, step)) for step in range(self._steps))
        return {step: known[cell] for step, cell in cells if cell in known}

    @property
    def _steps(self) -> int:
        return self.resources if self.metric == "demand" else self.loads


def contradictions(known: Known) -> Iterator[tuple[Cell, Cell]]:
    """Yield each cell that passed with one that failed despite less load or more resources."""
    for fixed in (0, 1):
        lines: dict[int, list[Cell]] = {}
        for cell in sorted(known):
            if known[cell] != "untold":
                lines.setdefault(cell[1 - fixed], []).append(cell)
        # Less load is easier, and so are more resources: the harder one comes first.
        for line in lines.values():
            ordered = line if fixed else line[::-1]
            for harder, easier in pairwise(ordered):
                if known[harder] == "pass" and known[easier] == "fail":
                    yield harder, easier


def expected_trials(grid: Grid) -> int:
    """Return how many cells a search tries for systems whose capacity grows with the resources.

    The mean over systems from those that pass nothing to those that pass everything.
    """
    counts = [_count(grid, slope) for slope in _slopes(grid)]
    return round(sum(counts) / len(counts))


def _slopes(grid: Grid) -> list[float]:
    """Return how many loads each of the resources adds, from hardly any to all of them."""
    return [grid.loads * share / 8 / grid.resources for share in range(1, 9)]


def _count(grid: Grid, slope: float) -> int:
    known: dict[Cell, Outcome] = {}
    while (cell := grid.next(known)) is not None:
        known[cell] = "pass" if cell[0] + 1 <= slope * (cell[1] + 1) else "fail"
    return len(known)
