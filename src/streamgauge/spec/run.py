"""One run: what was asked for, complete, with where each value came from."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, JsonValue, field_validator

from streamgauge.spec.trial import ActSpec, LoadSpec, Model, ResourceSpec, TrialSpec

FACTORS = {
    "rate": "rates",
    "partitions": "partitions",
    "cores": "cores",
    "instances": "instances",
    "instance_cores": "instance_cores",
    "instance_memory": "instance_memory",
    "seed": "seed",
    "duration": "duration",
}
"""What can be varied, and the setting of a preset that it stands for."""
RESOURCES = ("cores", "instances", "instance_cores", "instance_memory")
"""Settings that are resources of a trial, all of them together."""
OPTION_FACTORS = {"E": "engine_options", "P": "parameters", "L": "load"}
"""Settings whose options can be varied, by the letter that such a factor begins with."""
LOADS = "load"
"""The factor whose values are several options of the load at once: of a preset's list of loads."""
MOST_PARTITIONS = 1000
"""Of a topic: a single broker has its limit not far above."""
Origin = Literal["default", "quick", "preset", "option", "environment"]


class Variant(Model):
    """One combination of what a run varies; None stands for the value of the run."""

    factors: dict[str, str] = {}
    """The values as they were asked for."""
    rate: float | None = Field(default=None, gt=0)
    """None for each of the run's rates."""
    duration_s: float | None = Field(default=None, gt=0)
    partitions: int | None = Field(default=None, ge=1, le=MOST_PARTITIONS)
    resources: ResourceSpec | None = None
    seed: int | None = Field(default=None, ge=0)
    parameters: dict[str, JsonValue] | None = None
    engine_options: dict[str, str] | None = None
    load: LoadSpec | None = None

    def changes(self) -> dict[str, Any]:
        """Return what a trial of this variant changes, except the rate."""
        return {name: value for name, value in self if value is not None and name != "rate"}


class RunSpec(Model):
    """Everything that decides what a run does."""

    workload: str
    queries: tuple[str, ...] = Field(min_length=1)
    parameters: dict[str, JsonValue] = {}
    """The workload's parameters (-P), complete."""
    engine: str | None = "spark"
    """None where the experiment's trials have none."""
    engine_options: dict[str, str] = {}
    """The engine's options (-E), as given."""
    experiment: str = "fixed-rate"
    experiment_options: dict[str, JsonValue] = {}
    """The experiment's parameters (-X), complete."""
    preset: str | None = None
    transport: str = "kafka"
    rates: tuple[float, ...] = Field(default=(1000.0,), min_length=1)
    """Records per second and input stream; one trial for each."""
    shape: str | None = None
    """The load's shape (--load); the rate is then its mean."""
    duration_s: float = Field(default=300.0, gt=0)
    warmup_s: float = Field(default=90.0, ge=0)
    repeats: int = Field(default=1, ge=1)
    partitions: int = Field(default=1, ge=1, le=MOST_PARTITIONS)
    resources: ResourceSpec = ResourceSpec()
    seed: int = Field(default=1, ge=0)
    load: LoadSpec = LoadSpec()
    vary: dict[str, tuple[JsonValue, ...]] = {}
    """Factors of which several values were asked for, the one that changes fastest last."""
    variants: tuple[Variant, ...] = ()
    """Every combination of those values."""
    acts: tuple[ActSpec, ...] = ()
    """What is done during every trial."""
    profile: str | None = None
    """Name of the profiler that looks at the engine."""
    objectives: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    quick: bool = False
    keep: bool = False
    services: dict[str, str] = {}
    """Addresses of given services by name, without user info; the others are embedded."""
    accounts: dict[str, str] = Field(default_factory=dict, exclude=True)
    """Who connects to them; never written down."""
    service_settings: dict[str, JsonValue] = {}
    """Settings of services (-S), as given: `kafka.replication`."""
    origins: dict[str, Origin] = {}
    """Where each value came from that is not a default."""

    @property
    def subject(self) -> str:
        """What is measured, as a title: `espbench on spark`."""
        return f"{self.workload} {self.on_engine}"

    @property
    def on_engine(self) -> str:
        """What it runs on, to follow its name: `on spark`."""
        return "without an engine" if self.engine is None else f"on {self.engine}"

    def trial(self, number: int, query: str, rate: float, **other: Any) -> TrialSpec:
        """Return a trial of this run, which differs from the run only in what is named."""
        same = {name: getattr(self, name) for name in _SHARED}
        return TrialSpec(**same | {"number": number, "query": query, "rate": rate} | other)

    @field_validator("rates")
    @classmethod
    def _rates_are_positive(cls, rates: tuple[float, ...]) -> tuple[float, ...]:
        if any(rate <= 0 for rate in rates):
            raise ValueError("a rate must be above 0")
        return rates


_SHARED = TrialSpec.model_fields.keys() & RunSpec.model_fields.keys()
"""What a trial takes over from its run."""
