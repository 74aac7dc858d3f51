"""What two searches found, set beside each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from streamgauge.measure.comparability import Side, search_obstacles
from streamgauge.units import format_rate

Word = Literal["higher", "lower", "no difference", "not known", "not comparable"]
Interval = tuple[float | None, float | None]
"""The highest rate that held, and the lowest that did not."""


@dataclass(frozen=True)
class Sustained:
    """What one query sustains, on both sides."""

    query: str
    base: Interval
    other: Interval
    word: Word
    obstacles: tuple[str, ...] = ()
    """Why the sides are not comparable; empty when they are."""

    @property
    def ratio(self) -> float | None:
        """The other's rate by that of the base; None where they cannot be compared."""
        (base, _), (other, _) = self.base, self.other
        comparable = self.word not in ("not known", "not comparable")
        return other / base if base and other and comparable else None

    @property
    def says(self) -> str:
        """One sentence a person understands."""
        both = f"rate that {self.query} sustains: {_rate(self.other)}, the base {_rate(self.base)}"
        if self.obstacles:
            return f"{both}; not comparable, because {'; '.join(self.obstacles)}"
        ratio = "" if self.ratio is None else f", {self.ratio:.3g} times as much"
        return f"{both}; {self.word}{ratio}"


def compare_searches(base: Side, other: Side) -> Iterator[Sustained]:
    """Compare what was found of each query that both runs have searched.

    Where one interval ends below the other, the rates differ. Where they meet, there is no
    difference that the searches could tell, unless one of them did not get to the engine's limit.
    """
    theirs = _found(other)
    for query, mine in _found(base).items():
        if query in theirs:
            obstacles = search_obstacles(base, other)
            word = "not comparable" if obstacles else _word(mine, theirs[query])
            yield Sustained(query, mine, theirs[query], word, obstacles)


def _found(side: Side) -> dict[str, Interval]:
    searches: Any = side.answer.get("searches", ())
    return {str(search["query"]): _interval(search) for search in searches}


def _interval(search: Mapping[str, Any]) -> Interval:
    """Return what the search found; no rate that was not confirmed, nor one the driver missed."""
    _, high = search["interval"]
    return search["rate"], None if search["limit"] == "driver" else high


def _word(base: Interval, other: Interval) -> Word:
    (held, over), (other_held, other_over) = base, other
    if held is None or other_held is None:
        return "not known"
    if other_held >= (over or math.inf):
        return "higher"
    if held >= (other_over or math.inf):
        return "lower"
    return "not known" if over is None or other_over is None else "no difference"


def _rate(interval: Interval) -> str:
    held, over = interval
    if held is None:
        return "not known"
    return format_rate(held) if over is None else f"{format_rate(held)} (not {format_rate(over)})"
