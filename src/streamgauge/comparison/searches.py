"""What two searches found, side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from streamgauge.comparison.comparability import Side, search_obstacles
from streamgauge.spec.experiment import FoundByBoth, Interval
from streamgauge.units import format_rate

Word = Literal["higher", "lower", "no difference", "not known", "not comparable"]


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
        """The other's rate divided by the base's; None where they cannot be compared."""
        (base, _), (other, _) = self.base, self.other
        comparable = self.word not in ("not known", "not comparable")
        return other / base if base and other and comparable else None

    @property
    def says(self) -> str:
        """The finding in one sentence."""
        both = f"rate that {self.query} sustains: {_rate(self.other)}, the base {_rate(self.base)}"
        if self.obstacles:
            return f"{both}; not comparable, because {'; '.join(self.obstacles)}"
        ratio = "" if self.ratio is None else f", {self.ratio:.3g} times as much"
        return f"{both}; {self.word}{ratio}"


def judge(found: FoundByBoth, base: Side, other: Side) -> Sustained:
    """Judge the rates that two runs found.

    If one interval ends below the other, the rates differ. If they overlap, the searches found no
    difference, unless one of them did not reach the engine's limit.
    """
    obstacles = search_obstacles(base, other)
    word = "not comparable" if obstacles else _word(found.base, found.other)
    return Sustained(found.query, found.base, found.other, word, obstacles)


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
