"""The parameters (-P), and what follows from them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from streamgauge.measure.window_methods import Hopping
from streamgauge.units import parse_duration

Keys = Literal["normal", "uniform", "zipf", "single", "hot"]
Delays = Literal["exponential", "uniform"]

LONGEST_S = 3600.0
"""Of a window and of the allowed delay; a sentinel is further ahead than both."""
MOST_OVERLAP = 1000


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _durations(value: object) -> object:
    return [parse_duration(part) for part in value.split(",")] if isinstance(value, str) else value


Seconds = Annotated[float, Field(ge=0, le=LONGEST_S)]


class Parameters(BaseModel):
    """The parameters (-P)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    window: Annotated[tuple[Seconds, Seconds], BeforeValidator(_durations)] = Field(
        default=(8.0, 4.0), examples=["window=60s,60s"]
    )
    """Length and slide of the windows."""
    keys: Keys = Field(default="normal", examples=["keys=zipf"])
    """Distribution of the gem packs: normal, uniform, zipf, single or hot."""
    packs: int = Field(default=1_000, ge=1, le=10_000_000, examples=["packs=100"])
    """How many gem packs there are."""
    users: int = Field(default=1_000_000, ge=1, le=1_000_000_000, examples=["users=10000"])
    """How many users see ads; as many see none."""
    zipf: float = Field(default=1.0, ge=0, le=10, examples=["zipf=1.2"])
    """Exponent of keys=zipf."""
    hot: float = Field(default=0.5, ge=0, le=1, examples=["hot=0.9"])
    """Share of the records that are about one gem pack with keys=hot."""
    selectivity: float = Field(default=0.1, ge=0, le=1, examples=["selectivity=0.5"])
    """Share of the purchases that follow an ad for it, no longer ago than a window lasts."""
    allowed_delay: Annotated[Seconds, BeforeValidator(_duration)] = Field(
        default=0.0, examples=["allowed_delay=2s"]
    )
    """How late a record may be and must still be counted."""
    disorder: float = Field(default=0.0, ge=0, le=1, examples=["disorder=0.2"])
    """Share of the records that are delayed, by no more than is allowed."""
    delays: Delays = Field(default="exponential", examples=["delays=uniform"])
    """Distribution of the delays, exponential or uniform, cut at the allowed one."""
    late: float = Field(default=0.0, ge=0, le=1, examples=["late=0.01"])
    """Share of the records that are delayed by more than is allowed."""
    ring: int = Field(default=1_000_000, ge=1, le=7_000_000, examples=["ring=100000"])
    """Records per stream that are drawn before the load; then they repeat. A join draws more,
    where two windows hold more."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not 0 < self.slide_ms <= self.size_ms:
            raise ValueError("a window's slide must be positive and no longer than the window")
        if self.size_ms > MOST_OVERLAP * self.slide_ms:
            raise ValueError(f"a record may lie in at most {MOST_OVERLAP} windows")
        for seconds in (*self.window, self.allowed_delay):
            if abs(seconds * 1000 - round(seconds * 1000)) > 1e-6:
                raise ValueError("windows and delays must be whole milliseconds")
        if self.disorder and not self.allowed_delay:
            raise ValueError("disorder needs an allowed_delay that bounds the delays")
        if self.disorder + self.late > 1:
            raise ValueError("disorder and late are shares of all records: together at most 1")
        return self

    @property
    def size_ms(self) -> int:
        """Return the length of the windows."""
        return round(self.window[0] * 1000)

    @property
    def slide_ms(self) -> int:
        """Return the distance from window to window."""
        return round(self.window[1] * 1000)

    @property
    def hopping(self) -> Hopping:
        """Return the windows."""
        return Hopping(self.size_ms, self.slide_ms)

    @property
    def allowed_delay_ms(self) -> int:
        """Return how late a record may be and must still be counted."""
        return round(self.allowed_delay * 1000)
