"""The streams: who bought and who saw which gem pack, drawn from a seed, many at once.

A record's payload is `delay;user_id;gem_pack_id`, of a purchase also `;price`. The delay is in
milliseconds: the event time is the intended time less the delay. A sentinel's is far below zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.workloads.rovio.parameters import Parameters

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Drawn = TypeVar("Drawn", Integers, Floats)

CHEAPEST, DEAREST = 99, 9_999
"""Prices in cents."""
SENTINEL_AHEAD_MS = 24 * 3600 * 1000
_ADS, _PURCHASES = 1, 2
"""What distinguishes the streams' random numbers."""
_DEVIATIONS = 8.0
"""The gem packs span this many standard deviations of keys=normal."""
_MEANS = 4.0
"""The allowed delay is this many means of delays=exponential."""
_BLOCK = 16_384
"""Records that are drawn at a time."""


@dataclass(frozen=True)
class Ads:
    """Columns of the stream of ads."""

    delay_ms: Integers
    user: Integers
    pack: Integers


@dataclass(frozen=True)
class Purchases(Ads):
    """Columns of the stream of purchases."""

    price: Integers


class Random:
    """Columns of random numbers: drawn one after the other, handed out together in blocks.

    The generator draws each column to its end and drops it, to reach the beginning of the next. A
    copy draws it again, as far as it is asked for. So the blocks are those of whole columns, and
    no whole column is kept in memory.
    """

    def __init__(self, seed: int, stream: int, count: int) -> None:
        self.sizes = [min(_BLOCK, count - first) for first in range(0, count, _BLOCK)]
        self._generator = np.random.default_rng([seed, stream])

    def shares(self) -> Iterator[Floats]:
        """Draw numbers from 0 to below 1."""
        return self._column(lambda generator, size: generator.random(size))

    def normal(self, mean: float, deviation: float) -> Iterator[Floats]:
        """Draw numbers around a mean."""
        return self._column(lambda generator, size: generator.normal(mean, deviation, size))

    def integers(self, low: int, high: int) -> Iterator[Integers]:
        """Draw whole numbers, the highest included."""
        return self._column(lambda generator, size: generator.integers(low, high + 1, size))

    def _column(self, draw: Callable[[np.random.Generator, int], Drawn]) -> Iterator[Drawn]:
        copy = deepcopy(self._generator)
        for size in self.sizes:
            draw(self._generator, size)
        return (draw(copy, size) for size in self.sizes)


def ads(parameters: Parameters, seed: int, count: int) -> Iterator[Ads]:
    """Draw ads in blocks: any user that sees ads, any gem pack."""
    random = Random(seed, _ADS, count)
    user = random.integers(1, parameters.users)
    pack = packs(parameters, random)
    yield from map(Ads, delays(parameters, random), user, pack)


def purchases(parameters: Parameters, seed: int, count: int, rate: float) -> Iterator[Purchases]:
    """Draw purchases: some repeat user and pack of an ad before them, others are of other users.

    Both streams have the same rate, so record i of one meets record i of the other; an ad that
    was sent no longer than a window before lies no more than a window's records before.
    """
    seen = _seen(parameters, seed, count)
    random = Random(seed, _PURCHASES, count)
    answers, back = random.shares(), random.shares()
    user = random.integers(1 + parameters.users, 2 * parameters.users)
    pack = packs(parameters, random)
    price = random.integers(CHEAPEST, DEAREST)
    drawn = map(Purchases, delays(parameters, random), user, pack, price)
    first = 0
    for block, answer, share in zip(drawn, answers, back, strict=True):
        distance = (share * parameters.size_ms / 1000 * rate).astype(np.int64)
        ad = (np.arange(first, first + len(answer)) - distance) % count
        yield _following(block, answer < parameters.selectivity, seen[:, ad])
        first += len(answer)


def _seen(parameters: Parameters, seed: int, count: int) -> npt.NDArray[np.int32]:
    """Return users and packs of all ads: any of them may be followed by a purchase."""
    seen = np.empty((2, count), dtype=np.int32)
    first = 0
    for block in ads(parameters, seed, count):
        seen[:, first : first + len(block.user)] = block.user, block.pack
        first += len(block.user)
    return seen


def _following(
    block: Purchases, follows: npt.NDArray[np.bool_], ad: npt.NDArray[np.int32]
) -> Purchases:
    """Give the purchases that follow an ad its user and pack."""
    user, pack = np.where(follows, ad, (block.user, block.pack))
    return replace(block, user=user, pack=pack)


def packs(parameters: Parameters, random: Random) -> Iterator[Integers]:
    """Draw gem packs, numbered from 1."""
    most = parameters.packs
    if parameters.keys == "normal":
        drawn = random.normal((most + 1) / 2, most / _DEVIATIONS)
        return (np.clip(np.rint(block), 1, most).astype(np.int64) for block in drawn)
    if parameters.keys == "zipf":
        return _zipf(most, parameters.zipf, random.shares())
    if parameters.keys == "single" or most == 1:
        return (np.ones(size, dtype=np.int64) for size in random.sizes)
    if parameters.keys == "hot":
        both = zip(random.integers(2, most), random.shares(), strict=True)
        return (np.where(chosen < parameters.hot, 1, other) for other, chosen in both)
    return random.integers(1, most)


def _zipf(most: int, exponent: float, shares: Iterator[Floats]) -> Iterator[Integers]:
    reached = np.arange(1, most + 1, dtype=np.float64)
    reached **= -exponent
    np.cumsum(reached, out=reached)
    for block in shares:
        chosen = np.searchsorted(reached, block * reached[-1], side="right")
        yield np.minimum(1 + chosen, most).astype(np.int64)


def delays(parameters: Parameters, random: Random) -> Iterator[Integers]:
    """Draw how much later than its event each record is sent."""
    return map(partial(_delay, parameters), random.shares(), random.shares())


def _delay(parameters: Parameters, chosen: Floats, how_much: Floats) -> Integers:
    allowed = parameters.allowed_delay_ms
    delayed = np.ceil(allowed * _share(parameters, how_much)).astype(np.int64)
    too_late = allowed + 1 + (how_much * parameters.size_ms).astype(np.int64)
    late, disorder = parameters.late, parameters.disorder
    rest = np.where(chosen < late + disorder, delayed, 0)
    return np.where(chosen < late, too_late, rest)


def _share(parameters: Parameters, uniform: Floats) -> Floats:
    """Return shares of the allowed delay, distributed as it was chosen."""
    if parameters.delays == "uniform":
        return uniform
    return np.asarray(np.log1p(uniform * np.expm1(-_MEANS)) / -_MEANS)


def render(stream: Ads) -> list[bytes]:
    """Write the records' payloads."""
    columns = [getattr(stream, f.name).tolist() for f in fields(stream)]
    form = b";".join([b"%d"] * len(columns))
    return [form % row for row in zip(*columns, strict=True)]


def columns(stream: Ads) -> pa.Table:
    """Return the records' payloads as columns; every number of ours fits into 32 bits."""
    return pa.table({f.name: getattr(stream, f.name).astype(np.int32) for f in fields(stream)})


SENTINELS: Mapping[str, Mapping[str, int]] = {
    "purchases": {"delay_ms": -SENTINEL_AHEAD_MS, "user": 0, "pack": 2, "price": 0},
    "ads": {"delay_ms": -SENTINEL_AHEAD_MS, "user": 0, "pack": 1},
}
"""What sentinels say; no sentinel joins another."""


def sentinel(stream: str) -> bytes:
    """Write the payload of a stream's sentinels."""
    return ";".join(map(str, SENTINELS[stream].values())).encode()
