"""The toy on the reference engine: printed as it is expected, or put into Redis."""

from __future__ import annotations

import time
from collections.abc import Sequence

from streamgauge.engines.reference.faults import Output
from streamgauge.spec.endpoints import Services
from streamgauge_toy import KEPT, store


def printed(query: str, exact: bytes) -> bytes | None:
    return exact


def writer(query: str, services: Services) -> Writer:
    return Writer(services)


class Writer:
    """Puts ids into Redis; the time counts that is read before."""

    def __init__(self, services: Services) -> None:
        self._redis = store(services)
        self._unset: set[str] = set()

    def write(self, outputs: Sequence[Output]) -> None:
        now_ms = time.time_ns() // 1_000_000
        found = {each.key: now_ms for each in outputs if each.key not in self._unset}
        if found:
            self._redis.hset(KEPT, mapping=found)

    def spoil(self, fault: str, output: Output) -> None:
        assert fault == "unset"
        self._unset.add(output.key)

    def close(self) -> None:
        self._redis.close()
