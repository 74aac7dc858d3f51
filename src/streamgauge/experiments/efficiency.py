"""What an event costs, and where: every combination, profiled; cost over load by task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import ClassVar

import numpy as np

from streamgauge.experiments.combinations import every_combination
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Model, TrialResult, TrialSpec
from streamgauge.units import format_rate, parse_rate

PREFIX = "cost."
TOTAL = "total"
PROFILER = "auto"
_WITHOUT_STACKS = "procfs"
"""The back end of processes with only a known CPU time; small ones are not in every trial."""
_Factors = tuple[tuple[str, str], ...]
_FIT = 3
"""Different loads that a line needs."""


class EfficiencyParameters(Model):
    """How the trials are made."""

    rested: bool = True
    """Whether a trial warms up at half its load and pauses before the measured time, as in the
    publication; otherwise it warms up at the load itself."""


class TaskCost(Model):
    """One task in all repeats of a trial."""

    task: str
    cost: float
    """Mean CPU seconds per input record."""
    low: float
    high: float
    """Smallest and largest of the repeats."""
    share: float
    """Mean share of all CPU time."""
    share_deviation: float | None
    """Standard deviation of the share over the repeats; None for a single one."""


class Point(Model):
    """One trial with its repeats."""

    query: str
    rate: float
    factors: dict[str, str]
    profiled_by: tuple[str, ...]
    """The back ends that sampled stacks: shares of different ones are not compared."""
    trials: tuple[int, ...]
    """Their numbers."""
    cores: float
    """Mean CPU time per second of the engine's tasks."""
    latency_s: float | None
    """Mean latency."""
    network: float | None
    """Mean bytes per input record through all network interfaces, both ways."""
    tasks: tuple[TaskCost, ...]
    """The most expensive first; `total` is all of them."""


class Line(Model):
    """CPU seconds per second of a task as a line over the load."""

    query: str
    task: str
    factors: dict[str, str]
    profiled_by: tuple[str, ...]
    per_record: float
    """CPU seconds that one more record a second costs."""
    base: float
    """Cores at no load."""
    r_squared: float


class Efficiency(Model):
    """What an event costs."""

    points: tuple[Point, ...]
    lines: tuple[Line, ...]
    """One where three or more loads differ in nothing else."""


class EfficiencyByTask:
    """Every combination of what is varied, profiled."""

    name: ClassVar[str] = "efficiency"
    title: ClassVar[str] = "how much CPU time does an event cost, task by task?"
    parameters: ClassVar[type[EfficiencyParameters]] = EfficiencyParameters
    answers: ClassVar[type[Efficiency]] = Efficiency
    every_combination: ClassVar[bool] = True

    def __init__(self, run: RunSpec) -> None:
        asked = EfficiencyParameters.model_validate(run.experiment_options)
        profiled = run.model_copy(update={"profile": run.profile or PROFILER})
        made = every_combination(profiled)
        self._trials = [_rested(trial) if asked.rested else trial for trial in made]

    def plan(self) -> Sequence[TrialSpec]:
        """Return all trials in their order."""
        return self._trials

    def next_trial(self, history: Sequence[TrialResult]) -> TrialSpec | None:
        """Return the first trial that has no result yet."""
        done = {result.spec.number for result in history}
        return next((trial for trial in self._trials if trial.number not in done), None)

    def answer(self, history: Sequence[TrialResult]) -> Efficiency:
        """Return costs by task, and how they grow with the load."""
        counted = [each for each in history if each.usable and PREFIX + TOTAL in each.metrics]
        groups = groupby(sorted(counted, key=_question), key=_question)
        points = [_point(list(group)) for _, group in groups]
        points.sort(key=lambda point: point.trials[0])
        return Efficiency(points=tuple(points), lines=tuple(_lines(points)))


def _rested(trial: TrialSpec) -> TrialSpec:
    """Let a trial of constant load warm up at half of it."""
    if trial.shape is not None or trial.warmup_s == 0 or trial.backlog:
        return trial
    text = format_rate(trial.rate)
    if parse_rate(text) != trial.rate:  # `format_rate` writes four digits
        text = f"{trial.rate!r}/s"
    return trial.model_copy(update={"shape": f"rested:{text}"})


def _question(result: TrialResult) -> tuple[str, float, _Factors, tuple[str, ...]]:
    factors = tuple(sorted(_others(result.spec).items()))
    return result.spec.query, result.spec.rate, factors, _sampled_by(result)


def _sampled_by(result: TrialResult) -> tuple[str, ...]:
    return tuple(sorted(set(result.profiled_by) - {_WITHOUT_STACKS}))


def _others(spec: TrialSpec) -> dict[str, str]:
    """Return what was varied, except the rate."""
    return {name: value for name, value in spec.factors.items() if name != "rate"}


def _point(repeats: Sequence[TrialResult]) -> Point:
    spec = repeats[0].spec
    names = dict.fromkeys(
        name.removeprefix(PREFIX)
        for each in repeats
        for name in each.metrics
        if name.startswith(PREFIX)
    )
    tasks = sorted((_task(name, repeats) for name in names), key=lambda each: -each.cost)
    total = next(each.cost for each in tasks if each.task == TOTAL)
    return Point(
        query=spec.query,
        rate=spec.rate,
        factors=_others(spec),
        profiled_by=_sampled_by(repeats[0]),
        trials=tuple(sorted(each.spec.number for each in repeats)),
        cores=total * _mean([each.metrics["rate.appended"] for each in repeats]),
        latency_s=_mean_of("latency.mean", repeats),
        network=_network(repeats),
        tasks=tuple(tasks),
    )


def _task(name: str, repeats: Sequence[TrialResult]) -> TaskCost:
    found = [each.metrics.get(PREFIX + name, 0.0) for each in repeats]
    totals = [each.metrics[PREFIX + TOTAL] for each in repeats]
    shares = [cost / total if total else 0.0 for cost, total in zip(found, totals, strict=True)]
    return TaskCost(
        task=name,
        cost=_mean(found),
        low=min(found),
        high=max(found),
        share=_mean(shares),
        share_deviation=float(np.std(shares, ddof=1)) if len(shares) > 1 else None,
    )


def _network(repeats: Sequence[TrialResult]) -> float | None:
    per_record = [
        sum(value for name, value in each.metrics.items() if name.startswith("network."))
        / each.metrics["rate.appended"]
        for each in repeats
        if any(name.startswith("network.") for name in each.metrics)
    ]
    return _mean(per_record) if per_record else None


def _lines(points: Sequence[Point]) -> Iterator[Line]:
    """Fit lines over the loads of points that are otherwise the same."""
    alike: dict[tuple[str, _Factors, tuple[str, ...]], list[Point]] = {}
    for point in points:
        key = (point.query, tuple(sorted(point.factors.items())), point.profiled_by)
        alike.setdefault(key, []).append(point)
    for (query, _, profiled_by), group in alike.items():
        rates = [point.rate for point in group]
        if len(set(rates)) < _FIT:
            continue
        for name in dict.fromkeys(each.task for each in group[-1].tasks):
            costs = [_cost(point, name) for point in group]
            cores = [cost * rate for cost, rate in zip(costs, rates, strict=True)]
            slope, base, r_squared = fit(rates, cores)
            yield Line(
                query=query,
                task=name,
                factors=group[0].factors,
                profiled_by=profiled_by,
                per_record=slope,
                base=base,
                r_squared=r_squared,
            )


def fit(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float, float]:
    """Return slope, intercept and R² of the line by least squares."""
    x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread else 0.0
    base = float(y.mean() - slope * x.mean())
    around = float(((y - y.mean()) ** 2).sum())
    left = float(((y - base - slope * x) ** 2).sum())
    return slope, base, 1 - left / around if around else 1.0


def _cost(point: Point, name: str) -> float:
    return next((each.cost for each in point.tasks if each.task == name), 0.0)


def _mean_of(metric: str, repeats: Sequence[TrialResult]) -> float | None:
    found = [each.metrics[metric] for each in repeats if metric in each.metrics]
    return _mean(found) if found else None


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
