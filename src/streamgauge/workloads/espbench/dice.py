"""Random columns that depend only on seed, column and key, and how they become Arrow.

Each value is a hash of these three. So any range of rows can be made anywhere, in any order
and by any number of tasks, and comes out the same.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from streamgauge.workloads.espbench.schema import TIMESTAMP

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]

_LETTERS = np.frombuffer(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", np.uint8
)
DIGITS, ALPHANUMERICS = 10, 62
"""How many of the letters above a string may use."""


class Dice:
    """Draw values for the rows with these keys, independently for each column."""

    def __init__(self, seed: int, keys: Ints) -> None:
        self._seed = seed
        self._keys = _mix(keys.astype(np.uint64))

    def words(self, column: str, lane: int = 0) -> Words:
        """Give 64 random bits per row."""
        salt = hashlib.blake2b(f"{self._seed}/{column}/{lane}".encode(), digest_size=8).digest()
        return _mix(self._keys ^ np.uint64(int.from_bytes(salt, "little")))

    def integers(self, column: str, low: int, high: int) -> Ints:
        """Give an integer from `low` to `high`, both included, per row."""
        span = np.uint64(high - low + 1)
        offset = (self.words(column) >> np.uint64(32)) * span >> np.uint64(32)
        return low + offset.astype(np.int64)

    def strings(
        self, column: str, shortest: int, longest: int, letters: int = ALPHANUMERICS
    ) -> pa.Array:
        """Give a string of random length per row."""
        lanes = range(1, -(-longest // 8) + 1)
        words = np.stack([self.words(column, lane) for lane in lanes], axis=1)
        picks = (words.view(np.uint8).astype(np.uint16) * letters) >> 8
        lengths = self.integers(column, shortest, longest)
        used = np.arange(picks.shape[1]) < lengths[:, None]
        return _string_array(_LETTERS[picks[used]], lengths)


def integers(values: ArrayLike, null: Bools | None = None) -> pa.Array:
    """Make an integer column, NULL where `null` says so."""
    return pa.array(np.asarray(values, np.int32), mask=null)


def times(epoch_us: ArrayLike, null: Bools | None = None) -> pa.Array:
    """Make a timestamp column, NULL where `null` says so."""
    return pa.array(np.asarray(epoch_us, np.int64), mask=null).cast(TIMESTAMP)


def decimals(units: Ints, digits: int, scale: int = 2) -> pa.Array:
    """Make a decimal column from whole units of its last digit: cents, mostly."""
    halves = np.stack([units, units >> 63], axis=1)  # 128 bits, little-endian, sign-extended
    return pa.Array.from_buffers(
        pa.decimal128(digits, scale), len(units), [None, pa.py_buffer(halves.tobytes())]
    )


def _string_array(letters: NDArray[np.uint8], lengths: Ints) -> pa.Array:
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(letters.tobytes())]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)


def _mix(words: Words) -> Words:
    """Scramble 64-bit words (the finalizer of SplitMix64; multiplication wraps around)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
