"""The content of Redis: the ads with their campaigns, and the counts of windows.

`streamgauge-ysb-ads` is a hash of ad → campaign. `streamgauge-ysb-window-START` is a hash of
`CAMPAIGN/PART` → `seen_count,last_event_time,avg_pre_window_latency,time_updated`. The part says
who counted: `batch-N` of a micro-batch is a whole count; `worker-P-N`, views of partition P from
offset N on, are to be added up.
`time_updated` is the server's clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Self, TypeVar

import pyarrow as pa

from streamgauge.errors import TrialInvalid
from streamgauge.services.redis import RedisEndpoint, connect

if TYPE_CHECKING:
    from redis import Redis

ADS = "streamgauge-ysb-ads"
WINDOW = "streamgauge-ysb-window-"
WINDOWS = pa.schema([("window", pa.string()), ("counted", pa.string()), ("value", pa.string())])
"""As they are recorded: start of the window, `CAMPAIGN/PART`, and its value."""
READ_MS = b"read_ms"
"""Metadata of that table: the server's clock when it was read."""

Row = tuple[int, str, int, int, float | None]
"""Start of the window, campaign, seen_count, last_event_time, avg_pre_window_latency."""

T = TypeVar("T")
_MANY = 5_000
"""Fields that are written or read in one command."""
_WRITE = """
local now = redis.call('TIME')
local updated = ',' .. now[1] .. string.format('%03d', math.floor(now[2] / 1000))
for i = 2, #ARGV, 2 do
    redis.call(ARGV[1], KEYS[1], ARGV[i], ARGV[i + 1] .. updated)
end
"""


class Store:
    """A connection to the Redis of a trial, made with the first command."""

    def __init__(self, endpoint: RedisEndpoint) -> None:
        self._redis: Redis = connect(endpoint)
        self._write = self._redis.register_script(_WRITE)

    def reset(self, campaign_of: Mapping[bytes, bytes]) -> None:
        """Forget everything of earlier trials, and write the ads."""
        names = [ADS, *self._windows()]
        for some in _pieces(names):
            self._redis.unlink(*some)
        for pairs in _pieces(campaign_of.items()):
            self._redis.hset(ADS, mapping=dict(pairs))

    def ads(self) -> dict[bytes, bytes]:
        """Return the campaign of each ad."""
        pairs = self._redis.hgetall(ADS).items()
        return {_text(ad).encode(): _text(campaign).encode() for ad, campaign in pairs}

    def campaigns(self, ads: Sequence[str]) -> list[str | None]:
        """Look up the campaign of each of these ads; None for an unknown one."""
        found = self._redis.hmget(ADS, ads) if ads else []
        return [None if campaign is None else _text(campaign) for campaign in found]

    def write(self, part: str, rows: Iterable[Row], *, again: bool = False) -> None:
        """Write counts, all at once.

        Args:
            part: Who counted.
            rows: What was counted.
            again: Whether a count replaces an existing one; otherwise the first stays.
        """
        fields: dict[int, list[str]] = defaultdict(list)
        for window, campaign, seen, last, latency in rows:
            mean = "" if latency is None else f"{latency:.3f}"
            fields[window] += (f"{campaign}/{part}", f"{seen},{last},{mean}")
        with self._redis.pipeline(transaction=False) as pipeline:
            for window, texts in fields.items():
                for some in _pieces(texts, 2 * _MANY):
                    command = "HSET" if again else "HSETNX"
                    self._write([f"{WINDOW}{window}"], [command, *some], client=pipeline)
            pipeline.execute()

    def forget(self, partition: int, first: int) -> None:
        """Forget the parts of a partition that begin at this offset or later."""
        for name in self._windows():
            fields = map(_text, self._redis.hkeys(name))
            places = {field: field.rpartition("/")[2].split("-") for field in fields}
            gone = [
                field
                for field, (kind, *place) in places.items()
                if kind == "worker" and int(place[0]) == partition and int(place[1]) >= first
            ]
            for some in _pieces(gone):
                self._redis.hdel(name, *some)

    def windows(self) -> pa.Table:
        """Read all counts."""
        rows: list[tuple[str, str, str]] = []
        for name in self._windows():
            start = name.removeprefix(WINDOW)
            pairs = self._redis.hgetall(name).items()
            rows += ((start, _text(field), _text(value)) for field, value in pairs)
        seconds, microseconds = self._redis.time()
        read_ms = seconds * 1000 + microseconds // 1000
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        arrays = [pa.array(column, pa.string()) for column in columns]
        return pa.table(arrays, WINDOWS.with_metadata({READ_MS: str(read_ms)}))

    def _windows(self) -> list[str]:
        return [_text(name) for name in self._redis.scan_iter(f"{WINDOW}*", count=_MANY)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()


@contextmanager
def opened(endpoint: RedisEndpoint) -> Iterator[Store]:
    """Connect for the harness, whose errors say nothing about the engine."""
    from redis import RedisError

    try:
        with Store(endpoint) as store:
            yield store
    except (RedisError, OSError) as error:
        raise TrialInvalid(f"Redis at {endpoint.address} does not work: {error}") from error


def _pieces(items: Iterable[T], size: int = _MANY) -> Iterator[list[T]]:
    iterator = iter(items)
    while piece := list(islice(iterator, size)):
        yield piece


def _text(answer: bytes | str) -> str:
    """Decode what Redis answers, which its type does not say beforehand."""
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer
