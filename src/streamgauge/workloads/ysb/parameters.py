"""The parameters (-P), and what follows from them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

WINDOW_MS = 10_000
JITTER_MS = 50
"""With skew an event time is at most this far from the intended time."""
LATEST_MS = 60_000
"""With skew a few events are late by up to this much."""


class Parameters(BaseModel):
    """The parameters (-P)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    campaigns: int = Field(default=100, ge=1, le=100_000)
    """How many campaigns there are; each has ten ads."""
    events: Literal["all", "views"] = "all"
    """Types of the events: views, clicks and purchases in equal parts, or only views."""
    skew: bool = False
    """Whether event times are up to 50 ms off, and one of 100,000 up to a minute late."""
    bad: float = Field(default=0.0, ge=0, le=1)
    """Share of the events that must not be counted: half are of unknown ads, half are not JSON."""
    cache: bool = True
    """Whether the engine may remember the campaign of an ad, or asks Redis for each event."""
    ring: int = Field(default=1_000_000, ge=1, le=7_000_000)
    """Events that are rendered before the load; then they repeat with new times."""

    @property
    def allowed_delay_ms(self) -> int:
        """Return how late an event may be and must still be counted."""
        return 2 * JITTER_MS if self.skew else 0

    def views_per_campaign(self, rate: float) -> float:
        """Return how many views a campaign has in a window, at a rate per second."""
        share = 1.0 if self.events == "views" else 1 / 3
        return rate * WINDOW_MS / 1000 * share * (1 - self.bad) / self.campaigns
