"""The values of a load or a resource, in order: `rate:1k/s..50k/s*1.4`, `instances:1..4`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count, pairwise, takewhile

from streamgauge.errors import UsageError
from streamgauge.units import (
    format_count,
    format_rate,
    format_size,
    parse_count,
    parse_duration,
    parse_rate,
    parse_size,
)

MOST_STEPS = 100
"""Of a ladder: more would never be tried."""
_LADDER = re.compile(r"(?P<low>.+?)\.\.(?P<high>[^*+]+)(?:(?P<how>[*+])(?P<by>.+))?")
_KINDS: Mapping[str, Callable[[str], float]] = {
    "rate": parse_rate,
    "duration": parse_duration,
    "instance_memory": parse_size,
}
_ANY = (parse_count, parse_duration, parse_size)
"""What an option's value may be."""
_SLACK = 1e-9
_DIGITS = 3
_EXAMPLES = "Write it like rate:1k/s..50k/s*1.4, P.sensors:100,1000 or instances:1..4."


@dataclass(frozen=True)
class Ladder:
    """A factor and its values, the smallest first."""

    factor: str
    values: tuple[str, ...]
    """As they are asked for."""
    sizes: tuple[float, ...]
    """The same as numbers: records per second, seconds, bytes or counts."""


def read_ladder(text: str) -> Ladder:
    """Read `FACTOR:VALUE,VALUE` or `FACTOR:LOW..HIGH`, with `*FACTOR` or `+STEP` after it.

    Values that are listed may come in any order.

    Raises:
        UsageError: There is no value, one of them is not a number, or two are the same.
    """
    factor, colon, listed = (part.strip() for part in text.partition(":"))
    if not (factor and colon and listed):
        raise UsageError(f"{text!r} names no factor with values", _EXAMPLES)
    climbs = _LADDER.fullmatch(listed)
    values = _steps(factor, climbs) if climbs else _listed(listed)
    sized = sorted((size_of(factor, value), value) for value in values)
    for (size, value), (following, other) in pairwise(sized):
        if following == size:
            raise UsageError(f"{factor}: {value} and {other} are the same", "Name it once.")
    sizes, ordered = zip(*sized, strict=True)
    return Ladder(factor, ordered, sizes)


def size_of(factor: str, value: str) -> float:
    """Return a value as a number, above 0."""
    for parse in [_KINDS[factor]] if factor in _KINDS else _ANY:
        try:
            size = float(parse(value))
        except UsageError:
            continue
        if size <= 0:
            raise UsageError(f"{factor}: {value} is not above 0", _EXAMPLES)
        return size
    raise UsageError(f"{factor}: {value!r} is not a number, so nothing can be searched", _EXAMPLES)


def written(factor: str, size: float) -> str:
    """Write a number of a factor for people."""
    if factor == "rate":
        return format_rate(size)
    return format_size(size) if factor == "instance_memory" else format_count(size)


def _listed(text: str) -> list[str]:
    values = [value.strip() for value in text.split(";" if ";" in text else ",")]
    if not all(values):
        raise UsageError(f"{text!r}: a value is empty", _EXAMPLES)
    return values


def _steps(factor: str, climbs: re.Match[str]) -> list[str]:
    """Return the steps of a ladder, up to the last one that is not above its end."""
    low, high = (size_of(factor, climbs[end].strip()) for end in ("low", "high"))
    by = _step(factor, climbs)
    if high < low:
        raise UsageError(f"{climbs[0]!r} ends below its beginning", "Write LOW..HIGH.")
    grows = climbs["how"] == "*"
    if grows and by <= 1:
        raise UsageError(f"{climbs[0]!r} does not climb", "Give it a factor above 1.")
    at = (low * by**step if grows else low + step * by for step in count())
    below = takewhile(lambda size: size <= high * (1 + _SLACK), at)
    sizes = [size for size, _ in zip(below, range(MOST_STEPS + 1), strict=False)]
    if len(sizes) > MOST_STEPS:
        raise UsageError(
            f"{climbs[0]!r} has more than {MOST_STEPS} steps", "Give it a greater step."
        )
    return [_written(factor, climbs["low"], size) for size in sizes]


def _step(factor: str, climbs: re.Match[str]) -> float:
    if climbs["how"] == "*":
        return parse_count(climbs["by"])
    return size_of(factor, climbs["by"]) if climbs["how"] else 1.0


def _written(factor: str, like: str, size: float) -> str:
    """Write a step in the kind of the ladder's beginning, with three digits."""
    rounded = float(f"{size:.{_DIGITS}g}")
    if factor == "rate":
        return f"{format_count(rounded)}/s"
    if factor == "instance_memory":
        return str(round(size))
    if re.fullmatch(r"[\d.]+[a-zµμ]+", like.strip()) and size_of(factor, like) != _count(like):
        return f"{rounded:g}s"
    return str(round(rounded)) if float(rounded).is_integer() or size >= 1 else f"{rounded:g}"


def _count(text: str) -> float:
    try:
        return parse_count(text)
    except UsageError:
        return math.nan
