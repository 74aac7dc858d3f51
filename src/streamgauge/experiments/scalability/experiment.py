"""How far load and resources go together: a search per query, over a grid of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from streamgauge.errors import UsageError
from streamgauge.experiments.scalability import conclusions
from streamgauge.experiments.scalability.answer import (
    DEFAULT_OBJECTIVE,
    ScalabilityParameters,
    Scaling,
)
from streamgauge.experiments.scalability.grid import Cell, Grid, Known, expected_trials
from streamgauge.experiments.scalability.judge import Judged, judge, missing
from streamgauge.experiments.scalability.ladder import read_ladder
from streamgauge.measure.verdicts import worst
from streamgauge.objectives import parse_objective
from streamgauge.spec.experiment import FoundByBoth, Stage
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, TrialSpec

FULL_S = 60.0, 240.0
SURVEY_S = 30.0, 60.0
"""Warm-up and measured time; the published 5 minutes have the warm-up inside."""
FEWEST_FOR_AGAIN = 3
"""A search of fewer trials is over before a machine changes."""


@dataclass
class Course:
    """What was done for one query."""

    cells: dict[Cell, list[TrialResult]] = field(default_factory=dict)
    judged: dict[Cell, Judged] = field(default_factory=dict)
    open: Cell | None = None
    """The cell that needs another trial."""
    again: TrialResult | None = None

    @property
    def known(self) -> Known:
        """The outcomes so far."""
        return {cell: judged.outcome for cell, judged in self.judged.items()}


class Scalability:
    """A search per query, one after the other."""

    name: ClassVar[str] = "scalability"
    title: ClassVar[str] = "which resources does a load need, and which load do resources carry?"
    parameters: ClassVar[type[ScalabilityParameters]] = ScalabilityParameters
    answers: ClassVar[type[Scaling]] = Scaling

    @staticmethod
    def axes(options: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """Return what is varied: the load, then the resources."""
        asked = ScalabilityParameters.model_validate(options)
        ladders = (read_ladder(asked.load), read_ladder(asked.resources))
        return {ladder.factor: ladder.values for ladder in ladders}

    def __init__(self, run: RunSpec) -> None:
        self._run = run
        self._asked = asked = ScalabilityParameters.model_validate(run.experiment_options)
        self._load, self._resources = read_ladder(asked.load), read_ladder(asked.resources)
        sizes = len(self._load.values), len(self._resources.values)
        self._grid = Grid(*sizes, asked.metric, asked.strategy, asked.begin)
        self._queries = tuple(dict.fromkeys(run.queries))
        self._objectives = [
            parse_objective(text) for text in run.objectives or (DEFAULT_OBJECTIVE,)
        ]
        if self._load.factor != "rate" and len(run.rates) > 1:
            raise UsageError("a search needs one rate", "Choose one, or search by -X load=rate:…")
        if run.shape is not None:
            raise UsageError("a search needs constant rates", "leave --load out")
        if asked.survey and run.quick:
            raise UsageError("--survey and --quick exclude each other", "leave one of them out")

    def plan(self) -> Sequence[TrialSpec]:
        """Return the first trial of each query."""
        first = self._grid.next({}) or (0, 0)
        return [
            self._trial(number, query, first, 1) for number, query in enumerate(self._queries, 1)
        ]

    def outline(self) -> Sequence[Stage]:
        """Return what is done for each query."""
        grid, repeats = self._grid, self._run.repeats
        load, resources = (
            f"{ladder.factor} {', '.join(ladder.values)}"
            for ladder in (self._load, self._resources)
        )
        asked, given = (load, resources) if grid.metric == "demand" else (resources, load)
        what = (
            f"{grid.metric} for {asked}: {grid.strategy} search over {given}, begun at"
            f" {self._asked.begin}; at most {grid.most * repeats} trials"
        )
        if repeats > 1:
            what += f", {repeats} of each cell"
        stages = [Stage(what, expected_trials(grid) * repeats)]
        if self._repeats_first:
            stages.append(Stage("the first one again: has the machine changed?", 1))
        return stages

    def rough(self) -> str | None:
        """Return a warning for a survey."""
        return "survey: a rough answer" if self._asked.survey else None

    def least_times(self, trigger_s: float | None, window_ms: int | None) -> tuple[float, float]:  # noqa: ARG002
        """Return how long warm-up and measuring have to be."""
        return SURVEY_S if self._asked.survey else FULL_S

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the next trial of the first query whose search is not over."""
        for query in self._queries:
            course = self._course(query, history)
            cell = self._next_cell(course)
            if cell is not None:
                repeat = len(course.cells.get(cell, ())) + 1
                return self._trial(len(history) + 1, query, cell, repeat)
        return None

    def why(self, trial: TrialSpec, history: Sequence[TrialResult]) -> str:
        """Return what the trial is for."""
        course = self._course(trial.query, history)
        asked, given = self._load.factor, self._resources.factor
        if self._grid.metric == "capacity":
            asked, given = given, asked
        what = f"{asked}={trial.factors.get(asked)}: does {given}={trial.factors.get(given)} pass?"
        if course.open is not None:
            return f"{what} (once more)"
        return what if self._grid.next(course.known) else "the first one again"

    def answer(self, history: Sequence[TrialResult]) -> Scaling:
        """Conclude for each query: what was found, on which trials it rests, what to doubt."""
        return Scaling(
            survey=self._asked.survey,
            quick=self._run.quick,
            metric=self._asked.metric,
            load=self._load.factor,
            resources=self._resources.factor,
            objectives=tuple(map(str, self._objectives)),
            searches=tuple(
                conclusions.conclude(
                    query,
                    self._grid,
                    (self._load, self._resources),
                    self._course(query, history),
                    self._asked.price,
                )
                for query in self._queries
            ),
        )

    @staticmethod
    def compare(base: Scaling, other: Scaling) -> Sequence[FoundByBoth]:
        """Return the rates that both found for the same query and resources."""
        theirs = {(query, at): interval for query, at, interval in other.rates()}
        return [
            FoundByBoth(f"{query} with {base.resources}={at}", mine, theirs[query, at])
            for query, at, mine in base.rates()
            if (query, at) in theirs and other.resources == base.resources
        ]

    def exit_code(self, history: Sequence[TrialResult]) -> int:
        """Return 0 when anything passes, 1 when nothing does, 4 at the harness's limit."""
        found = (self._grid.found(self._course(query, history).known) for query in self._queries)
        return worst(conclusions.exit_code_of(each) for each in found)

    def _course(self, query: str, history: Sequence[TrialResult]) -> Course:
        course = Course()
        for result in history:
            if result.spec.query == query:
                self._add(course, result)
        return course

    def _add(self, course: Course, result: TrialResult) -> None:
        """Add the next trial; after the search that is the first one again."""
        if course.open is None and self._grid.next(course.known) is None:
            course.again = result
            return
        cell = self._cell(result.spec)
        results = course.cells.setdefault(cell, [])
        results.append(result)
        course.open = cell if missing(results, self._run.repeats) else None
        if course.open is None:
            course.judged[cell] = judge(results, self._objectives)

    def _next_cell(self, course: Course) -> Cell | None:
        if course.open is not None:
            return course.open
        if (cell := self._grid.next(course.known)) is not None:
            return cell
        wanted = self._repeats_first and course.again is None
        trials = sum(map(len, course.cells.values()))
        return next(iter(course.cells)) if wanted and trials >= FEWEST_FOR_AGAIN else None

    @property
    def _repeats_first(self) -> bool:
        return self._asked.again and not self._run.quick

    def _cell(self, spec: TrialSpec) -> Cell:
        load, resources = (
            ladder.values.index(spec.factors[ladder.factor])
            for ladder in (self._load, self._resources)
        )
        return load, resources

    @property
    def _cut_by(self) -> str | None:
        """The objective on the lag that a trial may be cut short by."""
        bounds = (each for each in self._objectives if each.metric.name == "lag.trend")
        return next((str(each) for each in bounds if each.operator.startswith("<")), None)

    def _trial(self, number: int, query: str, cell: Cell, repeat: int) -> TrialSpec:
        variant = self._run.variants[cell[0] * len(self._resources.values) + cell[1]]
        rate = variant.rate if variant.rate is not None else self._run.rates[0]
        cut_by = self._cut_by if self._asked.cut else None
        changes = {"repeat": repeat, "cut_by": cut_by, **variant.changes()}
        return self._run.trial(number, query, rate, **changes)
