"""The streams: who bought and who saw which gem pack, drawn from a seed, many at once.

A record's payload is `delay;user_id;gem_pack_id`, of a purchase also `;price`. The delay is in
milliseconds: the event time is the intended time less the delay. A sentinel's is far below zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.workloads.rovio.parameters import Parameters

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CHEAPEST, DEAREST = 99, 9_999
"""Prices in cents."""
SENTINEL_AHEAD_MS = 24 * 3600 * 1000
_ADS, _PURCHASES = 1, 2
"""What sets the streams' random numbers apart."""
_DEVIATIONS = 8.0
"""The gem packs span so many standard deviations of keys=normal."""
_MEANS = 4.0
"""The allowed delay is so many means of delays=exponential."""


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


def ads(parameters: Parameters, seed: int, count: int) -> Ads:
    """Draw ads: any user that sees ads, any gem pack."""
    random = np.random.default_rng([seed, _ADS])
    user = 1 + random.integers(parameters.users, size=count)
    pack = packs(parameters, random, count)
    return Ads(delays(parameters, random, count), user, pack)


def purchases(parameters: Parameters, seed: int, count: int, rate: float) -> Purchases:
    """Draw purchases: some repeat user and pack of an ad before them, others are of other users.

    Both streams have the same rate, so record i of one meets record i of the other; an ad that
    was sent no longer than a window before lies no more than a window's records before.
    """
    seen = ads(parameters, seed, count)
    random = np.random.default_rng([seed, _PURCHASES])
    answers = random.random(count) < parameters.selectivity
    back = (random.random(count) * parameters.size_ms / 1000 * rate).astype(np.int64)
    ad = (np.arange(count) - back) % count
    user = 1 + parameters.users + random.integers(parameters.users, size=count)
    pack = packs(parameters, random, count)
    price = random.integers(CHEAPEST, DEAREST, size=count, endpoint=True)
    return Purchases(
        delay_ms=delays(parameters, random, count),
        user=np.where(answers, seen.user[ad], user),
        pack=np.where(answers, seen.pack[ad], pack),
        price=price,
    )


def packs(parameters: Parameters, random: np.random.Generator, count: int) -> Integers:
    """Draw gem packs, numbered from 1."""
    most = parameters.packs
    if parameters.keys == "normal":
        drawn = random.normal((most + 1) / 2, most / _DEVIATIONS, count)
        return np.clip(np.rint(drawn), 1, most).astype(np.int64)
    if parameters.keys == "zipf":
        weights = np.arange(1, most + 1, dtype=np.float64) ** -parameters.zipf
        reached = np.cumsum(weights)
        chosen = np.searchsorted(reached, random.random(count) * reached[-1], side="right")
        drawn_packs: Integers = np.minimum(1 + chosen, most).astype(np.int64)
        return drawn_packs
    if parameters.keys == "single" or most == 1:
        return np.ones(count, dtype=np.int64)
    if parameters.keys == "hot":
        others = 2 + random.integers(most - 1, size=count)
        return np.where(random.random(count) < parameters.hot, 1, others)
    return 1 + random.integers(most, size=count)


def delays(parameters: Parameters, random: np.random.Generator, count: int) -> Integers:
    """Draw how much later than its event each record is sent."""
    allowed = parameters.allowed_delay_ms
    chosen, how_much = random.random(count), random.random(count)
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
    columns = [pc.cast(pa.array(getattr(stream, f.name)), pa.string()) for f in fields(stream)]
    payloads = pc.cast(pc.binary_join_element_wise(*columns, ";"), pa.binary())
    rendered: list[bytes] = payloads.to_pylist()
    return rendered


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
