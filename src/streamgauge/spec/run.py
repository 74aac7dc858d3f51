"""One run: what was asked for, complete, with where each value came from."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from streamgauge.spec.trial import LoadSpec, Model, TrialSpec

FLUCTUATE = "fluctuate"
"""High, a third of it, high again."""
_SHARE = re.compile(r"[1-9][0-9]{0,2}%")
Origin = Literal["default", "quick", "preset", "option", "environment"]


class Variant(Model):
    """One of several ways to send a load that a run tries."""

    load: LoadSpec
    partitions: int = Field(ge=1)


class RunSpec(Model):
    """Everything that decides what a run does."""

    workload: str
    queries: tuple[str, ...] = Field(min_length=1)
    parameters: dict[str, JsonValue] = {}
    """The workload's parameters (-P), complete."""
    engine: str = "spark"
    engine_options: dict[str, str] = {}
    """The engine's options (-E), as given."""
    experiment: str = "fixed-rate"
    preset: str | None = None
    transport: str = "kafka"
    rates: tuple[float, ...] = Field(default=(1000.0,), min_length=1)
    """Records per second and input stream; one trial for each."""
    schedule: str | None = None
    """The load's shape (--load); the rate is then its mean."""
    duration_s: float = Field(default=300.0, gt=0)
    warmup_s: float = Field(default=90.0, ge=0)
    repeats: int = Field(default=1, ge=1)
    partitions: int = Field(default=1, ge=1)
    cores: int | None = Field(default=None, ge=1)
    seed: int = Field(default=1, ge=0)
    load: LoadSpec = LoadSpec()
    variants: tuple[Variant, ...] = ()
    """Combinations of settings to be tried, where several were asked for."""
    objectives: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    quick: bool = False
    survey: bool = False
    """A search by short trials: a rough answer, stamped as such."""
    after: tuple[str, ...] = ("90%", "50%")
    """What a search tries at the rate that it has found: shares of it, or `fluctuate`."""
    keep: bool = False
    services: dict[str, str] = {}
    """Addresses of given services by name, without user info; the others are embedded."""
    accounts: dict[str, str] = Field(default={}, exclude=True)
    """Who connects to them; never written down."""
    service_settings: dict[str, JsonValue] = {}
    """Settings of services (-S), as given: `kafka.replication`."""
    origins: dict[str, Origin] = {}
    """Where each value came from that is not a default."""

    def trial(self, number: int, query: str, rate: float, **other: Any) -> TrialSpec:
        """Return a trial of this run: as the run is, but for what is named."""
        same = {name: getattr(self, name) for name in _SHARED}
        return TrialSpec(**same | {"number": number, "query": query, "rate": rate} | other)

    @field_validator("rates")
    @classmethod
    def _rates_are_positive(cls, rates: tuple[float, ...]) -> tuple[float, ...]:
        if any(rate <= 0 for rate in rates):
            raise ValueError("a rate must be above 0")
        return rates

    @field_validator("after")
    @classmethod
    def _after_is_known(cls, after: tuple[str, ...]) -> tuple[str, ...]:
        for what in after:
            if what != FLUCTUATE and not _SHARE.fullmatch(what):
                raise ValueError(
                    f"{what!r} is neither a share of the rate, as 90%, nor {FLUCTUATE}"
                )
        return after

    @model_validator(mode="after")
    def _load_can_be_sent(self) -> RunSpec:
        for load in (self.load, *(variant.load for variant in self.variants)):
            if load.idempotence and load.acks != "all":
                raise ValueError(f"acks={load.acks} excludes idempotence; add -L idempotence=false")
            if load.buffer < load.batch:
                raise ValueError(
                    "the buffer cannot hold a batch; raise -L buffer or lower -L batch"
                )
        return self


_SHARED = TrialSpec.model_fields.keys() & RunSpec.model_fields.keys()
"""What a trial takes over from its run."""
