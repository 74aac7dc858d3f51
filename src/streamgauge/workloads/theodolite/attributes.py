"""The time attribute that uc3 groups by: what it may be, and its value at any time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Literal
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import numpy.typing as npt

from streamgauge.errors import UsageError
from streamgauge.units import format_duration, parse_duration

Integers = npt.NDArray[np.int64]

_CYCLE = re.compile(r"cycle:(\d+):(\S+)")
_LONGEST_CYCLE_MS = 366 * 86_400_000
_QUARTER_MS = 900_000
"""Clocks of all zones differ by whole quarters of an hour."""
_HOUR_MS, _DAY_MS = 3_600_000, 86_400_000


@dataclass(frozen=True)
class Attribute:
    """A number that depends only on a time."""

    kind: Literal["hour-of-day", "day-of-week", "cycle"]
    values: int
    """How many there are, from 0."""
    step_ms: int
    """How long each lasts."""

    @classmethod
    def parse(cls, text: str) -> Attribute:
        """Read `hour-of-day`, `day-of-week` or `cycle:N:LENGTH`.

        Raises:
            ValueError: It is none of them.
        """
        if text == "hour-of-day":
            return cls("hour-of-day", 24, _HOUR_MS)
        if text == "day-of-week":
            return cls("day-of-week", 7, _DAY_MS)
        found = _CYCLE.fullmatch(text)
        if found is None:
            raise ValueError("write hour-of-day, day-of-week or cycle:12:5s")
        try:
            step_ms = round(parse_duration(found[2]) * 1000)
        except UsageError as error:
            raise ValueError(error.message) from None
        values = int(found[1])
        if not (1 <= values <= 100_000 and 1 <= step_ms <= _LONGEST_CYCLE_MS):
            raise ValueError("a cycle has 1 to 100,000 steps, each of 1 ms to 366 days")
        return cls("cycle", values, step_ms)

    def at(self, times_ms: Integers, zone: str) -> Integers:
        """Return its value at each of these times."""
        if self.kind == "cycle":
            return times_ms // self.step_ms % self.values
        quarters, place = np.unique(times_ms // _QUARTER_MS, return_inverse=True)
        there = ZoneInfo(zone)
        clocks = (
            datetime.fromtimestamp(quarter * _QUARTER_MS / 1000, UTC).astimezone(there)
            for quarter in quarters.tolist()
        )
        hours = self.kind == "hour-of-day"
        found = [clock.hour if hours else clock.weekday() for clock in clocks]
        return np.array(found, dtype=np.int64)[place]

    def next_change_ms(self, at_ms: int, zone: str) -> int:
        """Return when its value changes next, for hours and days to a quarter of an hour."""
        if self.kind == "cycle":
            return (at_ms // self.step_ms + 1) * self.step_ms
        quarters = np.arange(at_ms // _QUARTER_MS, at_ms // _QUARTER_MS + 8 * 96, dtype=np.int64)
        values = self.at(quarters * _QUARTER_MS, zone)
        return int(quarters[np.argmax(values != values[0])]) * _QUARTER_MS


def parse_attribute(text: str) -> str:
    """Refuse what is not an attribute with a ValueError."""
    Attribute.parse(text)
    return text


def parse_zone(text: str) -> str:
    """Refuse what is not a time zone with a ValueError."""
    if text not in _zones():
        raise ValueError(f"{text!r} is not a time zone: write it like Europe/Paris or UTC")
    return text


@cache
def _zones() -> frozenset[str]:
    """Return the names that mean the same on every machine."""
    return frozenset(available_timezones() - {"localtime", "Factory"})


def remark(attribute: str, zone: str, begin_ms: int, end_ms: int) -> str | None:
    """Report when an hour or a day changed during a load, after which there are more keys."""
    found = Attribute.parse(attribute)
    if found.kind == "cycle":
        return None
    change_ms = found.next_change_ms(begin_ms, zone)
    if change_ms >= end_ms:
        return None
    after = format_duration((change_ms - begin_ms) / 1000)
    return (
        f"the {attribute} in {zone} changed {after} after the beginning of the load:"
        " from then on there are twice as many keys"
    )
