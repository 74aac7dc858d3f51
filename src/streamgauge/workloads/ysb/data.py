"""The events, the ads and their campaigns, drawn from a seed.

An event is a JSON object of seven texts, after id and intended time. A payload leaves its event
time open, which the sender fills in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from streamgauge.workloads.ysb.parameters import JITTER_MS, LATEST_MS, WINDOW_MS, Parameters

Integers = npt.NDArray[np.int64]

ADS_PER_CAMPAIGN = 10
USERS = PAGES = 100
AD_TYPES = (b"banner", b"modal", b"sponsored-search", b"mail", b"mobile")
VIEW = b"view"
EVENT_TYPES = (VIEW, b"click", b"purchase")
NO_AD = b"00000000-0000-0000-0000-000000000000"
SENTINEL_MS = 4_102_444_800_000
"""The year 2100: later than every event."""

_UNKNOWN_ADS = 10
_LATE_SHARE = 1e-5
_CAMPAIGNS, _ADS, _USERS, _PAGES, _STRANGERS, _EVENTS, _TIMES = range(7)
"""What distinguishes series of random numbers."""
_BLOCK = 16_384
_SHAPE = (
    b'"user_id":%b,"page_id":"%b","ad_id":"%b","ad_type":"%b","event_type":"%b",'
    b'"event_time":"%%d","ip_address":"1.2.3.4"}'
)


def identifiers(seed: int, what: int, count: int) -> list[bytes]:
    """Draw UUIDs of version 4, as text."""
    digits = np.random.default_rng([seed, what]).bytes(16 * count).hex()
    return [_uuid(digits[at : at + 32]) for at in range(0, len(digits), 32)]


def _uuid(digits: str) -> bytes:
    variant = "89ab"[int(digits[16], 16) % 4]
    head, middle, tail = digits[8:12], digits[13:16], digits[20:]
    return f"{digits[:8]}-{head}-4{middle}-{variant}{digits[17:20]}-{tail}".encode()


@cache
def campaigns(count: int, seed: int) -> Sequence[bytes]:
    """Return the campaigns."""
    return identifiers(seed, _CAMPAIGNS, count)


@cache
def ads(count: int, seed: int) -> Sequence[bytes]:
    """Return the ads of that many campaigns: ten of the first, ten of the second, and so on."""
    return identifiers(seed, _ADS, count * ADS_PER_CAMPAIGN)


def campaign_of_each(count: int, seed: int) -> dict[bytes, bytes]:
    """Return the campaign of each ad."""
    owners = (each for each in campaigns(count, seed) for _ in range(ADS_PER_CAMPAIGN))
    return dict(zip(ads(count, seed), owners, strict=True))


def payloads(parameters: Parameters, seed: int, count: int) -> Iterator[list[bytes]]:
    """Render events in blocks."""
    random = np.random.default_rng([seed, _EVENTS])
    users = [b'"%b"' % user for user in identifiers(seed, _USERS, USERS)]
    pages = identifiers(seed, _PAGES, PAGES)
    known = ads(parameters.campaigns, seed)
    strangers = identifiers(seed, _STRANGERS, _UNKNOWN_ADS)
    types = EVENT_TYPES if parameters.events == "all" else EVENT_TYPES[:1]
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        columns = [_chosen(random, each, size) for each in (users, pages, known, AD_TYPES, types)]
        _spoil(columns, random.random(size), parameters.bad, strangers)
        yield [_SHAPE % row for row in zip(*columns, strict=True)]


def _chosen(random: np.random.Generator, known: Sequence[bytes], size: int) -> list[bytes]:
    return [known[number] for number in random.integers(0, len(known), size).tolist()]


def _spoil(
    columns: list[list[bytes]],
    chosen: npt.NDArray[np.float64],
    share: float,
    strangers: Sequence[bytes],
) -> None:
    """Leave out the quotes of some users, and give others an unknown ad."""
    users, _, shown, *_ = columns
    for row in np.flatnonzero(chosen < share).tolist():
        if row % 2:
            users[row] = users[row].strip(b'"')
        else:
            shown[row] = strangers[row % len(strangers)]


def shifts(parameters: Parameters, seed: int, count: int) -> list[int]:
    """Return how many milliseconds each event time is after the intended time."""
    if not parameters.skew:
        return [0]
    random = np.random.default_rng([seed, _TIMES])
    shift = random.integers(-JITTER_MS, JITTER_MS, count)
    late = random.random(count) < _LATE_SHARE
    shift -= np.where(late, random.integers(0, LATEST_MS, count), 0)
    found: list[int] = shift.tolist()
    return found


def marker(parameters: Parameters, seed: int) -> bytes:
    """Write a view of the first campaign, whose page is that campaign: see `window_of`."""
    campaign, ad = campaigns(parameters.campaigns, seed)[0], ads(parameters.campaigns, seed)[0]
    return _SHAPE % (b'""', campaign, ad, AD_TYPES[0], VIEW)


def window_of(marker: bytes) -> str:
    """Return window and campaign of a marker."""
    fields = json.loads(marker)
    at_ms = int(fields["event_time"])
    return f"{at_ms - at_ms % WINDOW_MS},{fields['page_id']}"


def sentinel() -> bytes:
    """Write a view of no ad, after all others."""
    return _SHAPE % (b'""', b"", NO_AD, AD_TYPES[0], VIEW) % SENTINEL_MS
