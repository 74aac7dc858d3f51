"""The parameters (-P), and what follows from them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from streamgauge.measure.window_methods import Hopping
from streamgauge.units import parse_duration
from streamgauge.workloads.theodolite.attributes import parse_attribute, parse_zone

MOST_SENSORS = 1_000_000
MOST_PLACES = 22_000
"""Sensors and groups of a hierarchy, which is one message of less than a megabyte."""
MOST_OVERLAP = 1_000
_LONGEST_S = 40 * 86_400.0
"""Of a window: its milliseconds fit into 32 bits."""
_STEPS = 4
"""Powers are multiples of a quarter of a watt, so that sums are exact in any order."""
_DEFAULT_MS = {"uc2": 10_000, "uc3": 30_000, "uc4": 5_000}
_DEFAULT_SLIDE_MS = 1_000


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _whole(seconds: float) -> float:
    if abs(seconds * 1000 - round(seconds * 1000)) > 1e-6:
        raise ValueError("it must be whole milliseconds")
    return seconds


def _quarters(watts: float) -> float:
    if watts * _STEPS != round(watts * _STEPS):
        raise ValueError("it must be a multiple of 0.25, so that sums are exact")
    return watts


Duration = Annotated[
    float, Field(gt=0, le=_LONGEST_S), AfterValidator(_whole), BeforeValidator(_duration)
]

Delay = Annotated[float, Field(ge=0, le=3600), AfterValidator(_whole), BeforeValidator(_duration)]


class Parameters(BaseModel):
    """The parameters (-P)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    sensors: int | None = Field(default=None, ge=1, le=MOST_SENSORS, examples=["sensors=10000"])
    """How many sensors there are (distinct keys); unless given, rate × period. For uc4 there are
    children ^ levels."""
    period: Duration | None = Field(default=None, examples=["period=500ms"])
    """Time between two records of a sensor (message frequency); unless given, 1 s, or sensors ÷
    rate where sensors are given."""
    window: Duration | None = Field(default=None, examples=["window=1m"])
    """Length of the windows; unless given, uc2 10 s, uc3 30 s, uc4 5 s."""
    slide: Duration | None = Field(default=None, examples=["slide=5s"])
    """Distance from window to window of uc3 (overlap = window ÷ slide); unless given, 1 s."""
    attribute: Annotated[str, AfterValidator(parse_attribute)] = Field(
        default="hour-of-day", examples=["attribute=cycle:12:5s"]
    )
    """Time attribute of uc3: hour-of-day, day-of-week, or cycle:N:LENGTH, which counts from 0 to
    N-1 and on from 0, a step each LENGTH."""
    aggregate: Literal["sum", "stats", "median"] = Field(
        default="stats", examples=["aggregate=median"]
    )
    """What uc3-final and uc3-sliding emit for a window: its sum, six statistics, or the median, for
    which all of its values are needed; the other forms of uc3 emit statistics only."""
    zone: Annotated[str, AfterValidator(parse_zone)] = Field(
        default="Europe/Paris", examples=["zone=UTC"]
    )
    """Time zone of hours and days."""
    children: int = Field(default=4, ge=1, le=64, examples=["children=8"])
    """Members of each group of uc4 (elements per group)."""
    levels: int = Field(default=4, ge=1, le=16, examples=["levels=5"])
    """Levels of groups of uc4 (depth)."""
    value: Annotated[float, AfterValidator(_quarters)] | None = Field(
        default=None, ge=0, le=100_000, examples=["value=10"]
    )
    """Power of every record, as published; unless given, drawn from 0 to 999.75 W."""
    delay: Delay | None = Field(default=None, examples=["delay=2s"])
    """How much longer windows stay open than the engine needs; unless given, 2 s where several
    senders may overtake each other, otherwise 0."""
    bad: float = Field(default=0.0, ge=0, le=1, examples=["bad=0.01"])
    """Share of the records that must not lead to an output: half are not JSON, half have no
    number."""
    ring: int = Field(default=1_000_000, ge=1, le=7_000_000, examples=["ring=100000"])
    """Records that are rendered before the load; then they repeat with new times."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self._check_windows()
        if self.places > MOST_PLACES:
            raise ValueError(
                f"{self.levels} levels of groups with {self.children} members each are"
                f" {self.group_sensors:,} sensors and {self.groups:,} groups, together more than"
                f" {MOST_PLACES:,}: lower levels or children"
            )
        return self

    def _check_windows(self) -> None:
        windows = self.hopping
        if windows.slide_ms > windows.size_ms:
            raise ValueError(
                f"the slide of uc3 ({windows.slide_ms} ms) is longer than its window"
                f" ({windows.size_ms} ms): records between two windows would have no answer"
            )
        if windows.overlap > MOST_OVERLAP:
            raise ValueError(
                f"a record would lie in {windows.overlap:,.0f} windows of uc3"
                f" (at most {MOST_OVERLAP:,} are allowed): choose a longer slide"
            )

    def window_ms(self, case: str) -> int:
        """Return the length of the windows of a use case."""
        return _DEFAULT_MS[case] if self.window is None else round(self.window * 1000)

    @property
    def slide_ms(self) -> int:
        """Return the distance from window to window of uc3; shorter windows do not overlap."""
        if self.slide is not None:
            return round(self.slide * 1000)
        return min(_DEFAULT_SLIDE_MS, self.window_ms("uc3"))

    @property
    def hopping(self) -> Hopping:
        """Return the windows of uc3."""
        return Hopping(self.window_ms("uc3"), self.slide_ms)

    @property
    def delay_ms(self) -> int:
        """Return how much longer windows stay open than the engine needs."""
        return 0 if self.delay is None else round(self.delay * 1000)

    @property
    def group_sensors(self) -> int:
        """Return how many sensors the hierarchy of uc4 has."""
        return int(self.children**self.levels)

    @property
    def groups(self) -> int:
        """Return how many groups it has, the root included."""
        return int(sum(self.children**level for level in range(self.levels)))

    @property
    def places(self) -> int:
        """Return how many sensors and groups it has."""
        return self.group_sensors + self.groups

    def sensors_of(self, query: str, rate: float) -> int:
        """Return how many sensors there are for a query at a rate per second."""
        if query.startswith("uc4"):
            return self.group_sensors
        if self.sensors is not None:
            return self.sensors
        period_s = 1.0 if self.period is None else self.period
        return max(1, min(MOST_SENSORS, round(rate * period_s)))
