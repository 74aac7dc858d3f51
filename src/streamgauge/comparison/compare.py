"""Whether one run differs from another, metric by metric, or why that is unknown.

Trials are compared query by query. The input, the machine and what the engine may use of it must
be the same; engine, mode, options and versions may differ: they are what is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import JsonValue

from streamgauge.comparison.comparability import Side, differences, obstacles
from streamgauge.comparison.ratio import Ratio, ratio
from streamgauge.comparison.searches import Sustained, judge
from streamgauge.measure.statistics import Floats
from streamgauge.metrics import metric
from streamgauge.spec.experiment import FoundByBoth
from streamgauge.spec.trial import TrialResult, TrialSpec
from streamgauge.units import format_rate

Word = Literal[
    "faster",
    "slower",
    "dearer",
    "cheaper",
    "higher",
    "lower",
    "no difference",
    "too few trials",
    "not measured",
    "not comparable",
]


@dataclass(frozen=True)
class Sample:
    """A metric over the trials of one side."""

    median: float
    low: float
    high: float
    """Smallest and largest of the trials."""
    trials: int


@dataclass(frozen=True)
class Compared:
    """One metric of both sides."""

    metric: str
    base: Sample | None
    other: Sample | None
    ratio: Ratio | None
    """None where a side lacks the metric, and where the sides cannot be compared."""
    word: Word

    @property
    def improves(self) -> bool | None:
        """Whether the other side is better; None where it is unknown or where neither is better."""
        if self.word in ("faster", "slower", "cheaper", "dearer"):
            return self.word in ("faster", "cheaper")
        better = metric(self.metric).better
        if self.word in ("higher", "lower") and better != "none":
            return self.word == better
        return None


@dataclass(frozen=True)
class Pair:
    """The trials of one query at one rate, on both sides."""

    workload: str
    query: str
    rate: float
    variant: str
    """What distinguishes it from other trials of that query and rate in its run; often empty."""
    obstacles: tuple[str, ...]
    """Why the sides are not comparable; empty when they are."""
    differences: tuple[str, ...]
    """What was changed: the cause of a difference, if there is one."""
    notes: tuple[str, ...]
    metrics: tuple[Compared, ...]
    trials: tuple[tuple[int, ...], tuple[int, ...]]
    """Numbers of the trials that count, of the base and of the other."""

    @property
    def name(self) -> str:
        """What was compared: `q3 at 10k/s`."""
        variant = f" · {self.variant}" if self.variant else ""
        return f"{self.query} at {format_rate(self.rate)}{variant}"


@dataclass(frozen=True)
class Comparison:
    """One run against another."""

    base: str
    other: str
    pairs: tuple[Pair, ...]
    sustained: tuple[Sustained, ...] = ()
    """What was searched on both sides."""


def compare(base: Side, other: Side, found: Sequence[FoundByBoth] = ()) -> Comparison:
    """Compare everything that two runs have in common; report what only one of them has.

    Each search chooses its own rates: only trials at the same rate are compared.

    Args:
        base: One run.
        other: The other run.
        found: What the answers of both say, as their experiment compares them.
    """
    sustained = tuple(judge(each, base, other) for each in found)
    pairs = (_pair(base, other, *both) for both in _paired(_groups(base), _groups(other)))
    alike = (pair for pair in pairs if not sustained or not pair.obstacles)
    return Comparison(base.name, other.name, tuple(alike), sustained)


_Trials = list[TrialResult]


@dataclass(frozen=True, eq=False)
class _Group:
    """The repeats of one trial."""

    asked: Mapping[str, JsonValue]
    trials: _Trials

    @property
    def question(self) -> tuple[JsonValue, JsonValue]:
        return self.asked["workload"], self.asked["query"]

    def distance(self, other: _Group) -> tuple[bool, int]:
        """Count the differences in what was asked for; the rate comes first."""
        names = {**self.asked, **other.asked}
        differ = [name for name in names if self.asked.get(name) != other.asked.get(name)]
        return "rate" in differ, len(differ)


_NOT_OWN = {"number", "repeat", "keep", "mode", "factors", "notes"} | {
    "parameters",
    "resources",
    "engine_options",
    "load",
}
"""Fields of a trial that make no difference, and those that are compared one by one."""


def _groups(side: Side) -> list[_Group]:
    groups: dict[str, _Group] = {}
    for result in side.trials:
        asked = _asked(result.spec)
        groups.setdefault(json.dumps(asked, sort_keys=True), _Group(asked, [])).trials.append(
            result
        )
    return list(groups.values())


def _asked(spec: TrialSpec) -> dict[str, JsonValue]:
    """Return everything that identifies a trial, including the settings of the load."""
    own = spec.model_dump(mode="json", exclude=_NOT_OWN)
    parameters = {f"P.{name}": value for name, value in spec.parameters.items()}
    given = {**parameters, **spec.resources.model_dump(mode="json"), **spec.engine_options}
    return {**own, **given, **spec.load.model_dump(mode="json")}


def _paired(
    bases: list[_Group], others: list[_Group]
) -> Iterator[tuple[_Group | None, _Group | None, str]]:
    """Pair each group with the most similar one of the base."""
    taken: set[_Group] = set()
    for other in others:
        alike = [each for each in bases if each.question == other.question]
        nearest = min(alike, key=other.distance, default=None)
        if nearest is not None:
            taken.add(nearest)
        yield nearest, other, _variant(other, others)
    for base in bases:
        if base not in taken:
            yield base, None, _variant(base, bases)


def _variant(group: _Group, groups: Sequence[_Group]) -> str:
    """Describe what distinguishes a group from the others of its query and rate."""
    same_rate = [
        each
        for each in groups
        if each.question == group.question and each.asked["rate"] == group.asked["rate"]
    ]
    differ = [
        name
        for name, value in group.asked.items()
        if any(each.asked.get(name) != value for each in same_rate)
    ]
    return ", ".join(f"{name}={group.asked[name]}" for name in differ)


def _pair(
    base: Side, other: Side, found_base: _Group | None, found_other: _Group | None, variant: str
) -> Pair:
    bases = found_base.trials if found_base else []
    others = found_other.trials if found_other else []
    spec = (others or bases)[0].spec
    found = obstacles(base, other, bases, others)
    counted = [result for result in bases if result.usable]
    against = [result for result in others if result.usable]
    return Pair(
        workload=spec.workload,
        query=spec.query,
        rate=spec.rate,
        variant=variant,
        obstacles=found,
        differences=differences(base, other, bases, others),
        notes=tuple(dict.fromkeys((*_notes(base, bases), *_notes(other, others)))),
        metrics=tuple(_metrics(counted, against, comparable=not found)),
        trials=(_numbers(counted), _numbers(against)),
    )


def _numbers(group: _Trials) -> tuple[int, ...]:
    return tuple(result.spec.number for result in group)


def _notes(side: Side, group: _Trials) -> Iterator[str]:
    if side.status in ("running", "interrupted"):
        state = "is still running" if side.status == "running" else "was interrupted"
        yield f"{side.name} {state}: only its finished trials are compared"
    left_out = [result for result in group if not result.usable]
    if left_out:
        yield f"{len(left_out)} of {len(group)} trials of {side.name} do not count"
    if (
        len(by := {" and ".join(sorted(each.profiled_by)) for each in group if each.profiled_by})
        > 1
    ):
        yield f"{side.name} was profiled by {', or by '.join(sorted(by))}"
    if any(result.usable and result.kept_up.holds is False for result in group):
        yield f"{side.name} did not keep up: its latencies depend on how long it ran"


_COST, _TOTAL_COST = "cost.", "cost.total"
"""Costs of tasks, which are comparable only between the same back ends, and their sum."""


def _metrics(bases: _Trials, others: _Trials, *, comparable: bool) -> Iterator[Compared]:
    names = {name: None for result in (*bases, *others) for name in sorted(result.metrics)}
    alike = len({frozenset(result.profiled_by) for result in (*bases, *others)}) == 1
    for name in names:
        sides = _values(bases, name), _values(others, name)
        by_task = name.startswith(_COST) and name != _TOTAL_COST
        yield _compared(name, *sides, comparable=comparable and (alike or not by_task))


def _values(group: _Trials, name: str) -> Floats:
    return np.array([each.metrics[name] for each in group if name in each.metrics], dtype=float)


def _compared(name: str, base: Floats, other: Floats, *, comparable: bool) -> Compared:
    both = _sample(base), _sample(other)
    if not comparable:
        return Compared(name, *both, None, "not comparable")
    if None in both:
        return Compared(name, *both, None, "not measured")
    found = ratio(base, other, metric(name).resolution)
    return Compared(name, *both, found, _word(name, found))


def _sample(values: Floats) -> Sample | None:
    if len(values) == 0:
        return None
    low, median, high = float(values.min()), float(np.median(values)), float(values.max())
    return Sample(median, low, high, len(values))


def _word(name: str, found: Ratio) -> Word:
    """Put the interval into words; with 1 inside it there is no difference."""
    if found.low is None or found.high is None:
        return "too few trials"
    if found.low <= 1 <= found.high:
        return "no difference"
    declared = metric(name)
    if declared.unit == "s/record":
        return "dearer" if found.low > 1 else "cheaper"
    timed = declared.unit == "s" and declared.better == "lower"
    if found.low > 1:
        return "slower" if timed else "higher"
    return "faster" if timed else "lower"
