"""Systems of known capacity, and what a search on a ladder would see of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest

from streamgauge.measure.scaling import BEYOND, Seen, model


@dataclass(frozen=True)
class System:
    """One that follows the Universal Scalability Law."""

    one: float
    contention: float
    coherence: float

    @classmethod
    def drawn(cls, random: Random) -> System:
        return cls(random.uniform(5e3, 15e3), random.uniform(0, 0.2), random.uniform(0, 0.01))

    def capacity(self, size: float) -> float:
        shared = self.contention * (size - 1) + self.coherence * size * (size - 1)
        return self.one * size / (1 + shared)


def search(
    capacity: float, step: float = 1.4, noise: float = 0.0, random: Random | None = None
) -> Seen:
    """Climb a ladder until a load fails; each verdict is as noisy as told."""
    random = random or Random(0)
    load = random.uniform(800, 1200)
    while load * step * random.lognormvariate(0, noise) <= capacity:
        load *= step
    return Seen(0, load, load * step)


def covered(systems: int, sizes: Sequence[int], noise: float, beyond: float = BEYOND) -> float:
    """Return the share of systems whose capacity beyond the sizes lies in the 90 % interval."""
    random, held = Random(1), 0
    for _ in range(systems):
        system = System.drawn(random)
        found = model([_seen(system, size, noise, random) for size in sizes])
        assert found is not None
        place = beyond * max(sizes)
        low, _, high = next(each for at, each in found.curve if at == pytest.approx(place))
        held += low <= system.capacity(place) <= high
    return held / systems


def _seen(system: System, size: int, noise: float, random: Random) -> Seen:
    found = search(system.capacity(size), 1.4, noise, random)
    return Seen(size, found.low, found.high)
