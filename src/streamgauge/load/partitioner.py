"""The partition that a key belongs to: the one that Kafka's own producers choose.

So a program that joins or counts by key finds its records where it would have put them itself.
"""

from __future__ import annotations

from functools import lru_cache

_BITS = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
_FACTOR = 0x5BD1E995
_SEED = 0x9747B28C


@lru_cache(maxsize=65_536)
def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition, from 0, as the default partitioner of Kafka's Java client does."""
    return (murmur2(key) & _POSITIVE) % partitions


def murmur2(key: bytes) -> int:
    """Return the hash of 32 bits, without a sign."""
    whole = len(key) - len(key) % 4
    found = (_SEED ^ len(key)) & _BITS
    for start in range(0, whole, 4):
        word = int.from_bytes(key[start : start + 4], "little") * _FACTOR & _BITS
        word = (word ^ (word >> 24)) * _FACTOR & _BITS
        found = (found * _FACTOR & _BITS) ^ word
    if whole < len(key):
        found = (found ^ int.from_bytes(key[whole:], "little")) * _FACTOR & _BITS
    found = (found ^ (found >> 13)) * _FACTOR & _BITS
    return found ^ (found >> 15)
