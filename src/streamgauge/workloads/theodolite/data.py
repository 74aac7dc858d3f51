"""The records of the sensors, drawn from a seed, and the hierarchy that they belong to.

A record is an ActivePowerRecord as a JSON object, after id and intended time. A payload leaves
its timestamp open, which the sender fills in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from streamgauge.workloads.theodolite.parameters import Parameters

Integers = npt.NDArray[np.int64]

STEPS = 4
"""In a watt: powers are whole numbers of such steps."""
MOST_STEPS = 4000
ROOT = "group_lvl_0"
EVENT_CHANGED = (0).to_bytes(4, "big")
"""Key of the hierarchy: the number of the event that the registry of sensors changed."""
SENTINEL_MS = 7_258_118_400_000
"""The year 2200: later than every window; pandas has no times after 2262."""

_ORDER, _VALUES, _BAD = range(3)
"""What distinguishes series of random numbers."""
_BLOCK = 16_384
_SHAPE = b'"identifier":"s_%d","timestamp":%%d,"valueInW":%b}'
_NO_JSON = b'"identifier":s_%d,"timestamp":%%d,"valueInW":%b}'
_NO_NUMBER = b'"identifier":"s_%d","timestamp":%%d,"valueInW":"%bERROR"}'
_MARKER = b'"identifier":"s_marker_%d","timestamp":%%d,"valueInW":0.0}'
_SENTINEL = b'"identifier":"s_sentinel","timestamp":%d,"valueInW":0.0}'


def size(sensors: int, parameters: Parameters, count: int) -> int:
    """Return how many records are rendered: a multiple of the sensors, if there are that many."""
    if count <= sensors:
        return count
    return min(-(-count // sensors), max(1, parameters.ring // sensors)) * sensors


def order(sensors: int, seed: int) -> Integers:
    """Return in which order the sensors send, the same in every period."""
    found: Integers = np.random.default_rng([seed, _ORDER]).permutation(sensors)
    return found


def payloads(parameters: Parameters, sensors: int, seed: int, count: int) -> Iterator[list[bytes]]:
    """Render that many records in blocks."""
    sent_by = order(sensors, seed)
    drawn, chosen = (np.random.default_rng([seed, what]) for what in (_VALUES, _BAD))
    written: dict[int, bytes] = {}
    for first in range(0, count, _BLOCK):
        numbers = sent_by[np.arange(first, min(first + _BLOCK, count)) % sensors].tolist()
        steps = drawn.integers(0, MOST_STEPS, len(numbers)).tolist()
        if parameters.value is not None:
            steps = [round(parameters.value * STEPS)] * len(numbers)
        for step in steps:
            if step not in written:
                written[step] = repr(step / STEPS).encode()
        shapes = [_SHAPE] * len(numbers)
        for row in np.flatnonzero(chosen.random(len(numbers)) < parameters.bad).tolist():
            shapes[row] = _NO_NUMBER if row % 2 else _NO_JSON
        columns = zip(shapes, numbers, steps, strict=True)
        yield [shape % (number, written[step]) for shape, number, step in columns]


def keys(sensors: int, seed: int, count: int) -> Iterator[list[bytes]]:
    """Return the identifiers of the same records."""
    sent_by = [b"s_%d" % number for number in order(sensors, seed).tolist()]
    for first in range(0, count, _BLOCK):
        numbers = range(first, min(first + _BLOCK, count))
        yield [sent_by[number % sensors] for number in numbers]


def markers(number: int, now_ms: int) -> list[bytes]:  # noqa: ARG001 - its time is put in later
    """Write a record of a sensor that has no other record."""
    return [_MARKER % number]


def sentinel() -> bytes:
    """Write a record after all others."""
    return _SENTINEL % SENTINEL_MS


def hierarchy(children: int, levels: int) -> bytes:
    """Write the groups and their members; level by level, each around `children` of the next."""
    members = [b'{"identifier":"s_%d"}' % number for number in range(children**levels)]
    for level in range(levels - 1, 0, -1):
        width = children ** (levels - level)
        together = (members[at : at + children] for at in range(0, len(members), children))
        members = [
            b'{"identifier":"g_%d_%d","children":[%b]}' % (level, number * width, b",".join(each))
            for number, each in enumerate(together)
        ]
    return b'"identifier":"%b","children":[%b]}' % (ROOT.encode(), b",".join(members))


def members(configuration: bytes) -> dict[str, tuple[str, int]]:
    """Return the group of each sensor and each group but the root, and its number in it."""
    found: dict[str, tuple[str, int]] = {}
    left = [json.loads(configuration)]
    while left:
        group = left.pop()
        for number, member in enumerate(group.get("children", ())):
            found[member["identifier"]] = group["identifier"], number
            left.append(member)
    return found


def group_name(level: int, first: int) -> str:
    """Return the name of a group by its level, 0 the root's, and its first sensor."""
    return f"g_{level}_{first}" if level else ROOT
