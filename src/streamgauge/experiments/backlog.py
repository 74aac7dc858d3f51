"""How fast an engine works off a backlog that was there before it started, in every combination."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import ClassVar

from streamgauge.errors import UsageError
from streamgauge.experiments.combinations import EveryCombination
from streamgauge.measure.window_methods import (
    ADDITIONS,
    METHOD,
    OVERLAP,
    PER_SECOND,
    SIZE,
    SLIDE,
    Cost,
    Hopping,
    Windowed,
    cheapest,
    choices,
    fitted,
)
from streamgauge.spec.run import RunSpec
from streamgauge.spec.trial import Model, TrialResult

BY_METHOD = f"E.{METHOD}"
"""The factor that methods are varied by."""


class Windows(Model):
    """How the windows of a trial were computed."""

    method: str
    overlap: float
    """Windows that a record lies in, on average."""
    additions: float
    """What was added to a window for each record, by the model."""
    auto: str
    """The method that `auto` takes for such windows."""


class WorkedOff(Model):
    """What one trial says about the engine."""

    trial: int
    query: str
    factors: dict[str, str]
    """What distinguishes it from the others."""
    rate: float
    """Records worked off per second, over all input streams."""
    cpu_us: float | None
    """CPU time of the engine for each of them, in microseconds."""
    state_rows: float | None
    state_bytes: float | None
    windows: Windows | None
    """None for a query without overlapping windows."""


class MethodCost(Model):
    """The model's two costs, fitted to the rates of a method."""

    method: str
    record_us: float
    addition_us: float


class Chosen(Model):
    """What `auto` would do where several methods were measured."""

    query: str
    factors: dict[str, str]
    """What was varied besides the method."""
    method: str
    """The method that it takes."""
    of_best: float | None
    """Its mean rate divided by that of the best method; None where it was not measured."""


class Backlogs(Model):
    """What was worked off, and the costs that explain the rates of window methods."""

    trials: int
    worked_off: tuple[WorkedOff, ...]
    costs: tuple[MethodCost, ...]
    auto: tuple[Chosen, ...]
    """By query and what was varied besides the method."""


class Backlog(EveryCombination):
    """Every combination; all records are there before the engine starts."""

    name: ClassVar[str] = "backlog"
    title: ClassVar[str] = "how fast does the engine work off a backlog?"
    answers: ClassVar[type[Backlogs]] = Backlogs

    def __init__(self, run: RunSpec) -> None:
        if run.shape is not None:
            raise UsageError("a backlog has no shape: all of it is there", "Leave --load out.")
        if run.acts:
            raise UsageError("a backlog has no times to act at", "Leave acts out.")
        super().__init__(run)
        alone = {"backlog": True, "warmup_s": 0.0, "tail_s": 0.0}
        self._trials = [trial.model_copy(update=alone) for trial in self._trials]

    def answer(self, history: Sequence[TrialResult]) -> Backlogs:
        """Return what each trial worked off, and the costs that explain it."""
        found = tuple(
            _worked_off(result)
            for result in history
            if result.correct.holds is True and "rate.catch_up" in result.metrics
        )
        return Backlogs(
            trials=len(self._trials),
            worked_off=found,
            costs=tuple(_costs(found)),
            auto=tuple(_chosen(found)),
        )


def _worked_off(result: TrialResult) -> WorkedOff:
    rate = result.metrics["rate.catch_up"]
    cores = result.metrics.get("cpu.engine")
    return WorkedOff(
        trial=result.spec.number,
        query=result.spec.query,
        factors=result.spec.factors,
        rate=rate,
        cpu_us=None if cores is None else 1e6 * cores / rate,
        state_rows=result.metrics.get("state.rows"),
        state_bytes=result.metrics.get("state.bytes"),
        windows=_windows(result),
    )


def _windows(result: TrialResult) -> Windows | None:
    settings = result.settings
    if OVERLAP not in settings:
        return None
    hopping = Hopping(int(settings[SIZE]), int(settings[SLIDE]))
    among = choices(result.spec.engine_options.get("store"))
    return Windows(
        method=settings[METHOD],
        overlap=float(settings[OVERLAP]),
        additions=float(settings[ADDITIONS]),
        auto=cheapest(Windowed(hopping, float(settings[PER_SECOND]), result.spec.rate), among),
    )


def _chosen(found: Sequence[WorkedOff]) -> Iterator[Chosen]:
    """Compare what `auto` takes with the best, wherever several methods were measured."""
    alike = defaultdict[tuple[str, tuple[tuple[str, str], ...]], list[WorkedOff]](list)
    for each in found:
        others = tuple(item for item in each.factors.items() if item[0] != BY_METHOD)
        alike[each.query, others].append(each)
    for (query, factors), group in alike.items():
        rates = defaultdict[str, list[float]](list)
        for each in group:
            if each.windows is not None:
                rates[each.windows.method].append(each.rate)
        if len(rates) < 2:
            continue
        means = {method: sum(several) / len(several) for method, several in rates.items()}
        auto = next(each.windows.auto for each in group if each.windows is not None)
        of_best = means[auto] / max(means.values()) if auto in means else None
        yield Chosen(query=query, factors=dict(factors), method=auto, of_best=of_best)


def _costs(found: Sequence[WorkedOff]) -> list[MethodCost]:
    """Fit the model to each method that has enough trials."""
    points = defaultdict(list)
    for each in found:
        if each.windows is not None:
            points[each.windows.method].append((each.windows.additions, 1e6 / each.rate))
    costs: dict[str, Cost | None] = {method: fitted(at) for method, at in points.items()}
    return [
        MethodCost(method=method, record_us=cost.record, addition_us=cost.addition)
        for method, cost in costs.items()
        if cost is not None
    ]
