"""Sensor lines of a workplace, rendered from synthetic signals.

A line has 57 TAB-separated columns: ts, index, mf01-mf03, pc13-pc15, pc25-pc27, res, then
44 columns of 0 or 1, and the workplace id.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import UsageError
from streamgauge.workloads.espbench import signals
from streamgauge.workloads.espbench.signals import ROWS_PER_SECOND, Signals

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_FIRST_TS = np.datetime64("2012-02-22T16:46:00", "s")
_FIRST_INDEX = 2_556_001
_BINARY_COLUMNS = 44
_PADDED_COLUMNS = 7
_ROWS_PER_BLOCK = 8_192
"""Small enough for the matrix of a block to stay in the processor's cache."""

# Where each field stands in a line. All lines are equally long, because the ranges of the
# signals fix their digits (mf01 and mf02 five, mf03 four) and the index keeps to seven.
_HEAD = b"0000-00-00T00:00:00.0000000+00:00\t0000000\t00000\t00000\t0000\t"
_SECOND = slice(0, 19)
_FRACTION = slice(20, 22)
_INDEX = slice(34, 41)
_MF01 = slice(42, 47)
_MF02 = slice(48, 53)
_MF03 = slice(54, 58)
_PADDED = slice(59, 94)
_BINARY = slice(94, 182)
_TABLE_DIGITS = 5
MOST_LINES = 7_000_000
"""With this many, the index still has seven digits."""


def table(count: int, workplace: int, seed: int) -> Signals:
    """Make the numeric columns of the lines that `lines` renders."""
    return signals.make(count, np.random.default_rng([seed, workplace]))


def lines(count: int, workplace: int, seed: int) -> list[bytes]:
    """Render `count` sensor lines; the same arguments give the same bytes."""
    return list(chain.from_iterable(blocks(count, workplace, seed)))


def blocks(count: int, workplace: int, seed: int) -> Iterator[list[bytes]]:
    """Render the same lines, some at a time."""
    if count < 1:
        return
    if count > MOST_LINES:
        raise UsageError(
            f"{count} distinct sensor lines are wanted, but the index allows {MOST_LINES}",
            "ask for fewer; the sender begins again at the end",
        )
    rows = table(count, workplace, seed)
    rng = np.random.default_rng([seed, workplace, 1])
    steps = _step_lines(workplace, len(rows.step_ends), rng)
    for first in range(0, count, _ROWS_PER_BLOCK):
        yield _render(rows, steps, first, min(first + _ROWS_PER_BLOCK, count))


def marker(workplace: int = 1) -> bytes:
    """Make an ordinary line that satisfies the row predicates of q3 and q4."""
    power = ["15500", "17148", "8000"]
    rest = ["0000"] * _PADDED_COLUMNS + ["0"] * _BINARY_COLUMNS
    ts = f"{_FIRST_TS}.0000000+00:00"
    return "\t".join([ts, str(_FIRST_INDEX), *power, *rest, str(workplace)]).encode()


def _step_lines(workplace: int, steps: int, rng: np.random.Generator) -> Bytes:
    """Render one line per machine step with the sensors that change only from step to step."""
    rest = b"0000\t" * _PADDED_COLUMNS + b"0\t" * _BINARY_COLUMNS + b"%d\n" % workplace
    matrix = np.tile(np.frombuffer(_HEAD + rest, np.uint8), (steps, 1))
    padded = np.zeros((steps, _PADDED_COLUMNS), np.int64)
    padded[:, :3] = rng.integers(50, 250, (steps, 3))
    fields = matrix[:, _PADDED].reshape(steps, _PADDED_COLUMNS, 5)
    fields[:, :, :4] = _digits(padded, 4)
    matrix[:, _PADDED] = fields.reshape(steps, -1)
    # The chances are drawn last; a generator ahead gives them before all draws are in memory.
    ahead = deepcopy(rng)
    blocks = np.array_split(matrix[:, _BINARY][:, ::2], steps // _ROWS_PER_BLOCK + 1)
    for block in blocks:
        ahead.random(block.shape)
    chances = ahead.random(_BINARY_COLUMNS)
    for block in blocks:
        block += (rng.random(block.shape) < chances).astype(np.uint8)
    return matrix


def _render(rows: Signals, steps: Bytes, first: int, end: int) -> list[bytes]:
    """Render the rows from `first` to before `end`."""
    number = np.arange(first, end)
    matrix: Bytes = steps[rows.step(first, end)]
    matrix[:, _SECOND] = _seconds(number)
    matrix[:, _FRACTION] = _digits(number % ROWS_PER_SECOND, 2)
    matrix[:, _INDEX] = _digits(_FIRST_INDEX + number, 7)
    matrix[:, _MF01] = _digits(rows.mf01[first:end], 5)
    matrix[:, _MF02] = _digits(rows.mf02[first:end], 5)
    matrix[:, _MF03] = _digits(rows.mf03[first:end], 4)
    return matrix.tobytes().splitlines()


def _seconds(number: Ints) -> Bytes:
    """Render the timestamp of each row down to the second."""
    second: Ints = number // ROWS_PER_SECOND
    distinct = np.arange(second[0], second[-1] + 1)
    text = np.datetime_as_string(_FIRST_TS + distinct).astype("S19")
    letters = text.view(np.uint8).reshape(-1, 19)
    rendered: Bytes = letters[second - second[0]]
    return rendered


def _digits(values: NDArray[np.integer], width: int) -> Bytes:
    """Render integers as `width` digits, zero-padded, in a new last axis."""
    if width <= _TABLE_DIGITS:
        return _digit_table()[values, _TABLE_DIGITS - width :]
    high, low = np.divmod(values, 10**_TABLE_DIGITS)
    return np.concatenate((_digits(high, width - _TABLE_DIGITS), _digits(low, _TABLE_DIGITS)), -1)


@cache
def _digit_table() -> Bytes:
    """Render 0 to 99999 once: looking digits up is faster than dividing for them."""
    powers = 10 ** np.arange(_TABLE_DIGITS - 1, -1, -1, dtype=np.uint32)
    numbers = np.arange(10**_TABLE_DIGITS, dtype=np.uint32)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)
