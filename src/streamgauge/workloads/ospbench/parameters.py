"""The parameters (-P), and what follows from them."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from streamgauge.measure.window_methods import Hopping
from streamgauge.units import parse_duration

LONGEST_S = 3600.0
"""Of a window and of the delay."""
MOST_OVERLAP = 1000
FARTHEST_BACK = 60
_BAD = re.compile(r"(?P<count>[1-9]\d{0,8})@(?P<at>[^/]+)(?:/(?P<stream>flow|speed))?")


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


Seconds = Annotated[float, Field(ge=0, le=LONGEST_S), BeforeValidator(_duration)]


class Parameters(BaseModel):
    """The parameters (-P)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    window: Seconds = Field(default=60.0, examples=["window=300s"])
    """Length of the windows of stage100 and stage101."""
    slide: Seconds = Field(default=12.0, examples=["slide=60s"])
    """Distance from one of them to the next."""
    short: int = Field(default=1, ge=1, le=FARTHEST_BACK, examples=["short=1"])
    """How many seconds back stage4 and stage6 compare first."""
    long: int = Field(default=2, ge=1, le=FARTHEST_BACK, examples=["long=2"])
    """How many seconds back they compare then; more than `short`."""
    delay: Seconds | None = Field(default=None, examples=["delay=5s"])
    """How late a record may be; 2 s by default, none for windows and a single partition."""
    bad: str | None = Field(default=None, examples=["bad=1@10s", "bad=1000000@10s/speed"])
    """How many records of each stream, or of one, cannot be parsed, and how long after the load's
    beginning they start."""
    ring: int = Field(default=500_000, ge=1, le=7_000_000, examples=["ring=100000"])
    """Records of each stream that are rendered before the load; then their values repeat."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not 0 < self.slide_ms <= self.size_ms:
            raise ValueError("the slide must be positive and no longer than the window")
        if self.size_ms % 1000 or self.slide_ms % 1000:
            raise ValueError("window and slide must be whole seconds, as the records' times are")
        if self.size_ms > MOST_OVERLAP * self.slide_ms:
            raise ValueError(f"a record may lie in at most {MOST_OVERLAP} windows")
        if self.short >= self.long:
            raise ValueError("short must be less than long")
        if self.bad is not None:
            self.unparsable("flow")
        return self

    @property
    def size_ms(self) -> int:
        """Return the length of the windows."""
        return round(self.window * 1000)

    @property
    def slide_ms(self) -> int:
        """Return the distance from window to window."""
        return round(self.slide * 1000)

    @property
    def hopping(self) -> Hopping:
        """Return the windows."""
        return Hopping(self.size_ms, self.slide_ms)

    @property
    def delay_ms(self) -> int | None:
        """Return how late a record may be, None where that is left to the engine."""
        return None if self.delay is None else round(self.delay * 1000)

    def unparsable(self, stream: str) -> tuple[int, int]:
        """Return how many records cannot be parsed, and from when on, in ms after the beginning.

        Raises:
            ValueError: It is not written like 1@10s.
        """
        if self.bad is None:
            return 0, 0
        found = _BAD.fullmatch(self.bad)
        if found is None:
            raise ValueError(f"{self.bad!r} must be written like 1@10s or 1@10s/speed")
        at_ms = round(parse_duration(found["at"]) * 1000)
        return (int(found["count"]) if found["stream"] in (None, stream) else 0), at_ms
