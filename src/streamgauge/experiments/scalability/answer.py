"""The parameters of the search over a grid and its answer: written with a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import ConfigDict, Field, field_validator

from streamgauge.errors import UsageError
from streamgauge.experiments.scalability.grid import Begin, Limit, Metric, Outcome, Strategy
from streamgauge.experiments.scalability.ladder import read_ladder
from streamgauge.spec.experiment import Interval
from streamgauge.spec.run import RESOURCES
from streamgauge.spec.trial import Model

DEFAULT_LOAD = "rate:1k/s,2k/s,5k/s,10k/s,20k/s,50k/s"
DEFAULT_OBJECTIVE = "lag.trend<0.05*rate"
_OF_LOADS = ("rate", "P.", "L.")


class ScalabilityParameters(Model):
    """The parameters of the search (-X)."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    metric: Metric = "demand"
    """demand: the least resources for each load; capacity: the greatest load for each of the
    resources."""
    load: str = Field(
        DEFAULT_LOAD, examples=["load=rate:1k/s..50k/s*1.4", "load=P.sensors:100,1000"]
    )
    """What is offered: a factor with its values, listed or as a ladder."""
    resources: str = Field(
        "instances:1..2", examples=["resources=instances:1..4", "resources=cores:1,2"]
    )
    """What the engine is given, in the same form."""
    strategy: Strategy = "linear"
    """full tries everything; linear goes step by step; binary halves."""
    begin: Begin = "lower-bound"
    """lower-bound leaves out what earlier results rule out; guess begins at the earlier result and
    may go back; nothing begins at the end of the list."""
    again: bool = True
    """Repeat the first trial at the end, to see whether the machine has changed."""
    cut: bool = True
    """Cut a trial short when its lag grows far faster than its objective allows."""
    price: float | None = Field(None, gt=0, examples=["price=0.05"])
    """What a core costs per hour, in any currency."""
    survey: bool = False
    """Search by short trials: a rough answer, marked as rough."""

    @field_validator("load")
    @classmethod
    def _is_a_load(cls, text: str) -> str:
        return _checked(text, _OF_LOADS, "a load is a rate, P.PARAMETER or L.OPTION")

    @field_validator("resources")
    @classmethod
    def _are_resources(cls, text: str) -> str:
        return _checked(text, RESOURCES, f"resources are {', '.join(RESOURCES)}")


def _checked(text: str, kinds: tuple[str, ...], told: str) -> str:
    try:
        factor = read_ladder(text).factor
    except UsageError as error:
        raise ValueError(f"{error.message}; {error.remedy}") from None
    if not any(
        factor == kind or (kind.endswith(".") and factor.startswith(kind)) for kind in kinds
    ):
        raise ValueError(f"{factor}: {told}")
    return text


class Tried(Model):
    """One cell of the grid: a load with resources."""

    load: str
    resources: str
    outcome: Outcome
    reason: str
    values: dict[str, float]
    """Medians of the bounded metrics over the repetitions."""
    bounds: dict[str, float]
    trials: tuple[int, ...]
    cut: tuple[int, ...]
    """Those that were cut short."""
    sustained: Outcome
    """By our own rule of sustained throughput."""
    rate: float | None
    """Records per second offered, over all input streams."""
    cores: float | None
    cpu_s_per_million: float | None
    """CPU seconds of the engine per million records."""


class Point(Model):
    """What was found for one load (demand), or for resources (capacity)."""

    at: str
    size: float
    """The same as a number."""
    found: str | None
    """The least resources, or the greatest load, that passed; None where nothing did."""
    found_size: float | None
    beyond_size: float | None
    """Of a capacity: the lowest load above it that failed; None where none was tried."""
    limit: Limit | None
    """What keeps it from being better; None while the search goes on."""


class Efficiency(Model):
    """Scaling efficiency from one size to the next, TIF / RIF; 1 is linear."""

    less: float
    more: float
    value: float


class Curve(Model):
    """What the model says about one size, with its 90 % interval."""

    size: float
    low: float
    middle: float
    high: float
    measured: bool
    """False where nothing so large was measured: a prediction."""


class Explained(Model):
    """The model of a capacity."""

    kind: Literal["linear", "usl"] | None
    """None where too few sizes have a capacity."""
    told: tuple[str, ...]
    curve: tuple[Curve, ...] = ()
    efficiencies: tuple[Efficiency, ...] = ()


class Cost(Model):
    """What it costs to carry a load, with the resources that carry it."""

    load: str
    resources: str
    cores: float
    cpu_s_per_million: float | None
    per_million: float | None
    """Money per million records, with all cores paid for; None without a price."""
    per_month: float | None


class Drift(Model):
    """The first trial again, at the end."""

    trial: int
    first: int
    told: str


class Search(Model):
    """The result of the search for one query."""

    query: str
    points: tuple[Point, ...]
    tried: tuple[Tried, ...]
    contradictions: tuple[str, ...]
    """What passed although something easier failed."""
    disagreements: tuple[str, ...]
    """Where our own rule of sustained throughput decides otherwise."""
    drift: Drift | None
    costs: tuple[Cost, ...]
    explained: Explained | None
    """None where demands were searched: only capacities have a model."""
    conclusion: str
    """One sentence for people."""


class Scaling(Model):
    """The search over a grid for each query."""

    survey: bool
    quick: bool
    metric: Metric
    load: str
    """The factor that is the load."""
    resources: str
    """The factor that is the resources."""
    objectives: tuple[str, ...]
    searches: tuple[Search, ...]

    def rates(self) -> Iterator[tuple[str, str, Interval]]:
        """Yield query, resources and the rates between which its capacity lies, if these are rates.

        A search that stopped at the harness, or at the end of the list, has no upper end.
        """
        if (self.metric, self.load) != ("capacity", "rate"):
            return
        for search in self.searches:
            for point in search.points:
                beyond = point.beyond_size if point.limit == "engine" else None
                yield search.query, point.at, (point.found_size, beyond)
