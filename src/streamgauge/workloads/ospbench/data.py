"""The road, and what is measured on each of its lanes.

A road has 12 points with 19 lanes. It is repeated as often as the load needs: a lane has one record
of each stream a second. The lanes of a point follow each other, points come in an order that is
drawn once; values are drawn for each lane and second.
"""

from __future__ import annotations

import json
import math
import time
from calendar import timegm
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

LANES = (1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3)
"""Of each point of a road."""
LANES_OF_ROAD = sum(LANES)
MOST_LANES = max(LANES)
STREAMS = ("flow", "speed")
MARKER, SENTINEL = b"marker/", b"sentinel"
"""Names of points that no road has; that of a marker ends with its number."""
SENTINEL_TIME = b"2100-01-01 00:00:00"
SENTINEL_MS = 4_102_444_800_000
"""Later than every record."""
FLOW_STEP, SPEED_STEPS = 60, 4
FLOWS, SPEEDS = (5, 40), (73 * SPEED_STEPS, 126 * SPEED_STEPS)
"""Flow in multiples of 60, speed in quarters."""

_LEAST_SECONDS = 7
_BLOCK = 16_384
_HEAD = b'"measurementId":"%b","internalId":"lane%d","lat":%.5f,"long":%.5f,'
_TAIL = b'"accuracy":100,"timestamp":"%b","num_lanes":%d}'
_SHAPES = {"flow": b'"flow":%d,"period":60,', "speed": b'"speed":%b,'}
_BROKEN = {"flow": b'"flow":flowERROR,"period":60,', "speed": b'"speed":speedERROR,'}
_DATE = b"%b"
_CLOCK = "%Y-%m-%d %H:%M:%S"
_NOTHING = b'"nothing":0}'


@dataclass(frozen=True)
class Lane:
    """A lane of a point, as its records name it."""

    point: bytes
    number: int
    """From 1."""
    lanes: int
    """Of the point."""
    latitude: float
    longitude: float


@lru_cache(maxsize=4_096)
def written(intended_ms: int) -> bytes:
    """Write the second of a time as records do, in UTC."""
    return time.strftime(_CLOCK, time.gmtime(intended_ms // 1000)).encode()


def roads(rate: float) -> int:
    """Return how many roads have about that many lanes, at least one."""
    return max(1, round(rate / LANES_OF_ROAD))


def lanes(count: int, seed: int) -> list[Lane]:
    """Return the lanes of at least that many records a second, in their order."""
    random = np.random.default_rng([seed, 0])
    repeats = -(-count // LANES_OF_ROAD)
    order = random.permutation(repeats * len(LANES)).tolist()
    places = random.uniform((51.0, 4.0), (52.0, 6.0), (repeats * len(LANES), 2)).tolist()
    found = []
    for number in order:
        road, point = divmod(number, len(LANES))
        name, (latitude, longitude) = b"%d/P%02d" % (road, point), places[number]
        found += [
            Lane(name, lane, LANES[point], latitude, longitude)
            for lane in range(1, LANES[point] + 1)
        ]
    return found


def payload(stream: str, lane: Lane, value: int, date: bytes = _DATE) -> bytes:
    """Render a record, as a format that takes its time unless that is given."""
    return _rendered(lane, _measured(stream, value), date)


def unparsable(stream: str, lane: Lane) -> bytes:
    """Render a record that is not JSON, as a format that takes its time."""
    return _rendered(lane, _BROKEN[stream], _DATE)


def _measured(stream: str, value: int) -> bytes:
    if stream == "flow":
        return _SHAPES[stream] % (FLOW_STEP * value)
    return _SHAPES[stream] % str(value / SPEED_STEPS).encode()


def _rendered(lane: Lane, measured: bytes, date: bytes) -> bytes:
    head = _HEAD % (lane.point, lane.number, lane.latitude, lane.longitude)
    return head + measured + _TAIL % (date, lane.lanes)


def markers(stream: str, number: int, now_ms: int, seconds_back: Sequence[int]) -> list[bytes]:
    """Render the records of a marker: a point with one lane, at these seconds."""
    lane = Lane(b"%b%d" % (MARKER, number), 1, 1, 0.0, 0.0)
    return [
        payload(stream, lane, FLOWS[0] if stream == "flow" else SPEEDS[0], written(at_ms))
        for at_ms in (now_ms - 1000 * back for back in seconds_back)
    ]


def place_of(record: bytes) -> tuple[int, str]:
    """Return second, in epoch milliseconds, and point of a record."""
    fields = json.loads(record)
    return 1000 * timegm(time.strptime(fields["timestamp"], _CLOCK)), fields["measurementId"]


def sentinel(stream: str) -> bytes:
    """Render a record after all others."""
    return payload(stream, Lane(SENTINEL, 1, 1, 0.0, 0.0), SPEEDS[0], SENTINEL_TIME)


class Ring:
    """The records of a stream for some seconds, after which their values repeat."""

    def __init__(self, stream: str, lanes: Sequence[Lane], seed: int, most: int) -> None:
        """Draw values for at most about that many records."""
        self._stream, self._lanes, self._seed = stream, lanes, seed
        self._seconds = _prime(max(_LEAST_SECONDS, most // len(lanes)))

    @cached_property
    def _rendered(self) -> list[list[bytes]]:
        return list(self.payloads())

    def payloads(self) -> Iterator[list[bytes]]:
        """Render second by second."""
        low, high = FLOWS if self._stream == "flow" else SPEEDS
        random = np.random.default_rng([self._seed, 1 + STREAMS.index(self._stream)])
        for _ in range(self._seconds):
            values = random.integers(low, high + 1, len(self._lanes)).tolist()
            pairs = zip(self._lanes, values, strict=True)
            yield [payload(self._stream, lane, value) for lane, value in pairs]

    def keys(self) -> Iterator[list[bytes]]:
        """Return the points of those records."""
        points = [lane.point for lane in self._lanes]
        return (points for _ in range(self._seconds))

    def first(self, second: int, count: int) -> tuple[list[bytes], list[bytes]]:
        """Return the first payloads of a second, and their keys."""
        keys = [lane.point for lane in self._lanes[:count]]
        return self._rendered[second % self._seconds][:count], keys

    def unparsable(self, slot: int) -> bytes:
        """Return the record at this place of a second in a form that is not JSON."""
        return unparsable(self._stream, self._lanes[slot])


def gathered(blocks: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
    """Put small blocks together."""
    whole: list[bytes] = []
    for block in blocks:
        whole += block
        if len(whole) >= _BLOCK:
            yield whole
            whole = []
    if whole:
        yield whole


def second_by_second(
    ring: Ring, counts: Sequence[int], before: int, bad: range
) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield payloads and keys of a load with these numbers of records in its seconds.

    Args:
        ring: Has enough lanes for the fullest second.
        counts: Records in each second.
        before: How many numbers are used before the load.
        bad: Records of the load that cannot be parsed.
    """
    if before:
        yield [_NOTHING] * before, [b""] * before
    begun = 0
    for second, count in enumerate(counts):
        payloads, keys = ring.first(second, count)
        for record in range(max(begun, bad.start), min(begun + count, bad.stop)):
            payloads[record - begun] = ring.unparsable(record - begun)
        begun += count
        yield payloads, keys


def _prime(most: int) -> int:
    """Return the greatest prime up to a number: no window's sums repeat with it."""
    return next(n for n in range(most, 1, -1) if all(n % d for d in range(2, math.isqrt(n) + 1)))
