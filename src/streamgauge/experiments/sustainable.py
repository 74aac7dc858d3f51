"""The highest rate that an engine sustains: guess, bracket, bisect, confirm (Karimov et al.)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.experiments.conclusions import (
    by_growth,
    catch_up_rate,
    caught_up_s,
    conclusion,
    exit_code_of,
    is_spoiled,
    told,
    told_of_guess,
)
from streamgauge.experiments.search import (
    BRACKET,
    Ends,
    Found,
    Role,
    Search,
    Step,
    Thoroughness,
    Tried,
    rounded,
)
from streamgauge.experiments.search_answer import (
    FLUCTUATE,
    LatencyAt,
    SearchAnswer,
    Searches,
    SearchParameters,
)
from streamgauge.measure.sustained import decide
from streamgauge.measure.verdicts import worst
from streamgauge.spec.experiment import FoundByBoth, Stage
from streamgauge.spec.offering import Backlog
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.units import format_count, format_rate

FALLBACK = 1000.0
"""Where the search begins when the guess gave no rate."""
HIGH = 0.9
"""Share of the rate that was found at which a load that fluctuates is high."""
_WHY: Mapping[Role, str] = {
    "guess": "how fast does it catch up?",
    "bracket": "an end of the bracket",
    "widen": "the bracket did not hold",
    "bisect": "the middle of the bracket",
    "repeat": "the same once more",
    "confirm": "does it hold each time?",
    "latency": "latency at the rate found",
}


@dataclass(frozen=True)
class Least:
    """How long a part of a trial has to last: in seconds, trigger intervals and windows."""

    seconds: float
    triggers: int
    windows: int

    def time_s(self, trigger_s: float, window_s: float) -> float:
        """Return the longest of the three."""
        return max(self.seconds, self.triggers * trigger_s, self.windows * window_s)


FULL = Least(60.0, 20, 2), Least(180.0, 30, 5)
SURVEY = Least(30.0, 5, 1), Least(60.0, 15, 3)
"""Of warm-up and measured time."""


QUICK = Backlog(20_000.0, 5.0)
QUICK_MOST = 20_000.0
"""The highest rate of a quick search: the harness itself carries more on any machine."""
QUICK_TIMES_S = {"warmup": 5.0, "duration": 10.0}


@dataclass
class _Course:
    """What was done for one query."""

    search: Search
    guesses: list[TrialResult] = field(default_factory=list)
    searched: list[tuple[TrialResult, Role]] = field(default_factory=list)
    after: list[TrialResult] = field(default_factory=list)
    """The trials that follow a search, for their latency."""

    def add(self, result: TrialResult) -> None:
        """Add the next trial."""
        step = self.search.next()
        if step is None:
            self.after.append(result)
            return
        self.searched.append((result, step.role))
        self.search.add(_tried(result))


class Sustainable:
    """A search per query, one after the other."""

    name: ClassVar[str] = "sustainable"
    title: ClassVar[str] = "what is the highest rate that the engine sustains?"
    parameters: ClassVar[type[SearchParameters]] = SearchParameters
    answers: ClassVar[type[Searches]] = Searches

    def __init__(self, run: RunSpec) -> None:
        self._run = run = _shortened(run) if run.quick else run
        self._asked = SearchParameters.model_validate(run.experiment_options)
        self._queries = tuple(dict.fromkeys(run.queries))
        self._rates = run.rates if "rates" in run.origins else ()
        self._thoroughness = Thoroughness(1.5, 1) if run.quick else Thoroughness()
        self._after = self._asked.after[-1:] if run.quick else self._asked.after
        self._guess = QUICK if run.quick else registry.transport(run.transport).backlog
        self._greater = self._guess.greater
        _refuse(run, self._asked, self._rates)

    def plan(self) -> Sequence[TrialSpec]:
        """Return the first trial of each query."""
        bracket = Step(self._ends(()).low, "bracket")
        first = bracket if self._rates else Step(self._guess.rate, "guess")
        return [self._trial(number, query, first) for number, query in enumerate(self._queries, 1)]

    def outline(self) -> Sequence[Stage]:
        """Return what is done for each query."""
        ends, asked = self._ends(()), self._thoroughness
        low, high = (f"{100 * share:g} %" for share in BRACKET)
        bracket = f"{low} and {high} of that"
        if self._rates:
            bracket = f"{format_rate(ends.low)} and {format_rate(ends.high)}"
        if len(self._rates) < 2:
            bracket += ", widened until it holds"
        backlog = f"{format_count(self._guess.records)} records wait when the engine starts"
        guess = f"guess: {backlog}; how fast does it catch up?"
        if self._greater:
            guess += " Again with more records, if it finishes too soon to measure"
        stages = [
            Stage(guess, 0 if self._rates else 1 + bool(self._greater)),
            Stage(f"bracket: {bracket}", 2),
            Stage(f"bisection to {100 * asked.tolerance:g} %", asked.bisections(ends)),
            Stage("confirmation: the lower end must hold each time", asked.confirmations),
            Stage(f"latency at the rate found: {', '.join(self._after)}", len(self._after)),
        ]
        return [stage for stage in stages if stage.trials]

    def rough(self) -> str | None:
        """Return a warning for a survey."""
        return "survey: a rough answer" if self._asked.survey else None

    def least_times(self, trigger_s: float | None, window_ms: int | None) -> tuple[float, float]:
        """Return how long warm-up and measuring have to be, so that a trend can be seen."""
        trigger_s, window_s = trigger_s or 0.0, (window_ms or 0) / 1000
        warmup, measured = SURVEY if self._asked.survey else FULL
        return warmup.time_s(trigger_s, window_s), measured.time_s(trigger_s, window_s)

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the next trial of the first query whose search is not over."""
        for query in self._queries:
            step = self._next_step(self._course(query, history))
            if step is not None:
                return self._trial(len(history) + 1, query, step)
        return None

    def why(self, trial: TrialSpec, history: Sequence[TrialResult]) -> str:
        """Return what the trial is for."""
        step = self._next_step(self._course(trial.query, history))
        return "the next query" if step is None else _WHY[step.role]

    def answer(self, history: Sequence[TrialResult]) -> Searches:
        """Conclude for each query: the rate, its interval, what limits it, all trials."""
        return Searches(
            survey=self._asked.survey,
            quick=self._run.quick,
            searches=tuple(self._conclude(query, history) for query in self._queries),
        )

    @staticmethod
    def compare(base: Searches, other: Searches) -> Sequence[FoundByBoth]:
        """Return what was found for each query that both have searched."""
        theirs = {search.query: search.found for search in other.searches}
        return [
            FoundByBoth(mine.query, mine.found, theirs[mine.query])
            for mine in base.searches
            if mine.query in theirs
        ]

    def exit_code(self, history: Sequence[TrialResult]) -> int:
        """Return 0 when found and confirmed, 1 when no rate passes, 4 at the harness's limit."""
        found = (self._course(query, history).search.found() for query in self._queries)
        return worst(exit_code_of(each) for each in found if each is not None)

    def _course(self, query: str, history: Sequence[TrialResult]) -> _Course:
        mine = [result for result in history if result.spec.query == query]
        guesses = [result for result in mine if result.spec.backlog]
        course = _Course(Search(self._ends(guesses), self._thoroughness), guesses)
        for result in mine:
            if not result.spec.backlog:
                course.add(result)
        return course

    def _ends(self, guesses: Sequence[TrialResult]) -> Ends:
        if len(self._rates) > 1:
            low, high = self._rates
            return Ends(low, high)
        if not self._run.quick:
            return Ends.around(*self._rates or [catch_up_rate(guesses) or FALLBACK])
        likely = min(catch_up_rate(guesses) or FALLBACK, QUICK_MOST / BRACKET[1])
        return replace(Ends.around(*self._rates or [likely]), higher=())

    def _next_step(self, course: _Course) -> Step | None:
        if not self._rates and (times := self._next_guess(course.guesses)):
            return Step(self._guess.rate, "guess", times=times)
        if step := course.search.next():
            return step
        found = course.search.found()
        if found is None or found.rate is None or len(course.after) == len(self._after):
            return None
        return _after(self._after[len(course.after)], found.rate)

    def _next_guess(self, done: Sequence[TrialResult]) -> int | None:
        """Return the size of the next backlog, in times the first; None when no guess is left."""
        if not done:
            return 1
        if is_spoiled(done[-1]):
            once = not any(map(is_spoiled, done[-2:-1]))
            return round(done[-1].spec.duration_s / self._guess.duration_s) if once else None
        first, *greater = (guess for guess in done if not is_spoiled(guess))
        passed_s = caught_up_s(first)
        if passed_s == 0 or any(map(caught_up_s, greater)):
            return None
        left = [times for limit_s, times in self._greater.items() if passed_s < limit_s]
        return next(iter(left[len(greater) :]), None)  # the next one, if one was too much

    def _trial(self, number: int, query: str, step: Step) -> TrialSpec:
        run = self._run
        if step.role == "guess":
            duration_s = step.times * self._guess.duration_s
            # A load that is already there has no times to act at.
            alone = {"duration_s": duration_s, "warmup_s": 0.0, "tail_s": 0.0, "acts": ()}
            return run.trial(number, query, step.rate, backlog=True, **alone)
        duration_s = step.times * run.duration_s
        return run.trial(number, query, step.rate, shape=step.shape, duration_s=duration_s)

    def _conclude(self, query: str, history: Sequence[TrialResult]) -> SearchAnswer:
        course = self._course(query, history)
        found = course.search.found()
        guesses = course.guesses
        trials = [told_of_guess(guesses[:count]) for count in range(1, len(guesses) + 1)]
        trials += [told(result, role) for result, role in course.searched]
        trials += [told(result, "latency") for result in course.after]
        interval = found.interval if found else (course.search.low, course.search.high)
        return SearchAnswer(
            query=query,
            rate=found.rate if found else None,
            interval=interval,
            limit=found.limit if found else None,
            by_growth=by_growth([result for result, _ in course.searched]),
            confirmations=self._thoroughness.confirmations,
            conclusion=conclusion(found, self._thoroughness.confirmations),
            catch_up=catch_up_rate(course.guesses),
            latency=tuple(self._latency(course, found)),
            trials=tuple(trials),
        )

    def _latency(self, course: _Course, found: Found | None) -> list[LatencyAt]:
        """Name the trials that give the latency at the rate found, and those tried after it."""
        if found is None or found.rate is None:
            return []
        confirmed = [r for r, _ in course.searched if r.spec.rate == found.rate]
        trials = zip(("100%", *self._after), (confirmed[-1], *course.after), strict=False)
        return [LatencyAt(at=at, trial=result.spec.number) for at, result in trials]


def _shortened(run: RunSpec) -> RunSpec:
    """Make the trials of a quick search short, unless their times were given."""
    times = {
        f"{name}_s": seconds
        for name, seconds in QUICK_TIMES_S.items()
        if run.origins.get(name, "quick") == "quick"
    }
    return run.model_copy(update=times)


def _after(what: str, found: float) -> Step:
    """Return what is tried after the rate is known; the confirmations give the latency at it."""
    if what != FLUCTUATE:
        return Step(rounded(int(what.removesuffix("%")) / 100 * found), "latency")
    high = rounded(HIGH * found)
    return Step(high * 7 / 9, "latency", shape=f"{FLUCTUATE}:{high:.0f}/s")


def _refuse(run: RunSpec, asked: SearchParameters, rates: Sequence[float]) -> None:
    """Refuse what a search cannot do."""
    if asked.survey and run.quick:
        raise UsageError("--survey and --quick exclude each other", "leave one of them out")
    if len(rates) > 2:
        raise UsageError(
            f"a search has two limits, not {len(rates)}", "write --rate LOW,HIGH, or a first guess"
        )
    if len(rates) == 2 and rates[0] >= rates[1]:
        low, high = map(format_rate, rates)
        raise UsageError(
            f"the search limits {low} and {high} leave nothing to search",
            "write the lower one first: --rate LOW,HIGH",
        )
    if run.shape is not None:
        raise UsageError("a search needs constant rates", "leave --load out")


def _tried(result: TrialResult) -> Tried:
    return Tried(result.spec.rate, decide(result).outcome)
