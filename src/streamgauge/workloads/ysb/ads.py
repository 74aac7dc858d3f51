"""Looks up the campaigns of ads in Redis, from any process of an engine in Python."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.services.redis import RedisEndpoint
from streamgauge.workloads.ysb.store import Store

_known: dict[str, str] = {}
"""The campaigns that this process has asked for."""


@cache
def store(redis: RedisEndpoint) -> Store:
    """Return this process's connection."""
    return Store(redis)


@dataclass(frozen=True)
class Ads:
    """Knows, or asks, which campaign an ad belongs to."""

    redis: RedisEndpoint
    remembers: bool
    """Whether it asks once for each ad; otherwise it asks again for each event."""

    def campaigns(self, ads: pa.Array) -> pa.Array:
        """Return the campaign of each ad; null for an ad that Redis does not know."""
        if not self.remembers:
            return pa.array(self._asked(ads.to_pylist()), pa.string())
        distinct = pc.dictionary_encode(ads)
        names = distinct.dictionary.to_pylist()
        if new := [name for name in names if name not in _known]:
            found = zip(new, self._asked(new), strict=True)
            _known.update((name, campaign) for name, campaign in found if campaign is not None)
        campaigns = pa.array([_known.get(name) for name in names], pa.string())
        return campaigns.take(distinct.indices)

    def _asked(self, ads: list[str | None]) -> list[str | None]:
        return store(self.redis).campaigns([ad or "" for ad in ads])
