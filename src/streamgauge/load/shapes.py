"""Shapes of a load: how its rate changes over the measured time.

A shape covers the measured time. The warm-up has its first rate; what comes after has its last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from streamgauge.load.schedule import Constant, Schedule, Tabled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_RECORDS = 10**10
_PAUSE_MS = 10_000
_PER_RECORD = 10**8
"""Counting in parts of a record is exact in 64 bits, and drifts for no rate of five decimals."""


@dataclass(frozen=True)
class Spans:
    """The parts of a load, in milliseconds."""

    warmup: int
    measured: int
    tail: int

    @property
    def total(self) -> int:
        """Length of the whole load."""
        return self.warmup + self.measured + self.tail


class Shape(Protocol):
    """How a load changes over the measured time."""

    @property
    def length_ms(self) -> int | None:
        """Return when it is over; None for one that lasts as long as asked."""

    def schedule(self, spans: Spans, seed: int) -> Schedule:
        """Return when each record of such a load is due; ValueError if it cannot be sent."""


@dataclass(frozen=True)
class Steady:
    """The same rate all the time."""

    rate: float
    length_ms: int | None = None

    def schedule(self, _spans: Spans, _seed: int) -> Schedule:
        """Return a schedule that needs no table, whatever the length."""
        return Constant(self.rate)


@dataclass(frozen=True)
class Poisson:
    """Records that come independently of each other, at this rate on average."""

    rate: float
    length_ms: int | None = None

    def schedule(self, spans: Spans, seed: int) -> Schedule:
        """Draw the arrivals of each millisecond; the same seed gives the same."""
        _refuse_too_many(self.rate * spans.total / 1000)
        drawn = np.random.default_rng(seed).poisson(self.rate / 1000, spans.total)
        return Tabled(np.cumsum(drawn, dtype=np.int64))


@dataclass(frozen=True)
class Curve:
    """A rate for each millisecond of the measured time."""

    rates: Callable[[int], Floats]
    """Rates per second of that many milliseconds."""
    length_ms: int | None = None

    def schedule(self, spans: Spans, _seed: int) -> Schedule:
        """Sum the rates up."""
        rates = self.rates(spans.measured)
        return Tabled(_due(np.pad(rates, (spans.warmup, spans.tail), mode="edge")))


@dataclass(frozen=True)
class Surges:
    """A rate interrupted by seconds with many more records, which all come at once."""

    rate: float
    factor: float
    """How many times as many records such a second has."""
    period_s: int
    """From one such second to the next; each period ends with one."""
    length_ms: int | None = None

    def schedule(self, spans: Spans, _seed: int) -> Schedule:
        """Put the records of such a second at its beginning, counted from that of the load."""
        rates = np.full(spans.total, self.rate)
        first_s = -(-spans.warmup // 1000) + self.period_s - 1
        for second in range(first_s, (spans.warmup + spans.measured) // 1000, self.period_s):
            rates[1000 * second : 1000 * (second + 1)] = 0
            rates[1000 * second] = 1000 * self.rate * self.factor
        return Tabled(_due(rates))


@dataclass(frozen=True)
class Backlog:
    """A rate until the engine is started, in place of a warm-up, and another one from then on."""

    before: float
    before_ms: int
    rate: float
    length_ms: int | None = None

    def schedule(self, spans: Spans, _seed: int) -> Schedule:
        """Let the second rate begin with the measured time."""
        rates = np.repeat([self.before, self.rate], [spans.warmup, spans.measured + spans.tail])
        return Tabled(_due(rates))


@dataclass(frozen=True)
class Rested:
    """Half of the rate for warming up, then a pause to work off what is left, then the rate."""

    rate: float
    length_ms: int | None = None

    def schedule(self, spans: Spans, _seed: int) -> Schedule:
        """End the warm-up with the pause, which is no more than a third of it."""
        pause = min(_PAUSE_MS, spans.warmup // 3)
        lengths = [spans.warmup - pause, pause, spans.measured + spans.tail]
        return Tabled(_due(np.repeat([self.rate / 2, 0.0, self.rate], lengths)))


@dataclass(frozen=True, eq=False)
class Replay:
    """The arrivals of a recording; before and after it, its mean rate."""

    arrivals_ms: Ints
    """From the first, in order."""

    @property
    def length_ms(self) -> int:
        """Last until the last arrival."""
        return int(self.arrivals_ms[-1]) + 1

    def schedule(self, spans: Spans, _seed: int) -> Schedule:
        """Count the arrivals up to each millisecond."""
        mean = 1000 * len(self.arrivals_ms) / self.length_ms
        lead = _due(np.full(spans.warmup, mean))
        recorded = np.cumsum(np.bincount(self.arrivals_ms))
        rest = _due(np.full(spans.measured + spans.tail - self.length_ms, mean))
        first = lead[-1] if len(lead) else 0
        after = rest + first + recorded[-1]
        return Tabled(np.concatenate([lead, recorded + first, after]).astype(np.int64))


def steps(parts: Sequence[tuple[float, int]]) -> Curve:
    """Hold each rate for its milliseconds, one after the other."""
    rates = np.array([rate for rate, _ in parts])
    lengths = [length_ms for _, length_ms in parts]

    def curve(span_ms: int) -> Floats:
        return _hold(np.repeat(rates, lengths), span_ms)

    return Curve(curve, sum(lengths))


def ramp(start: float, end: float, length_ms: int) -> Curve:
    """Go evenly from one rate to another."""

    def curve(span_ms: int) -> Floats:
        rising = start + (end - start) * (np.arange(length_ms) + 0.5) / length_ms
        return _hold(rising, span_ms)

    return Curve(curve, length_ms)


def sine(low: float, high: float, period_ms: int) -> Curve:
    """Swing between two rates; begin in the middle, upward."""

    def curve(span_ms: int) -> Floats:
        turns = (np.arange(span_ms) + 0.5) / period_ms
        rates: Floats = (low + high) / 2 + (high - low) / 2 * np.sin(2 * np.pi * turns)
        return rates

    return Curve(curve)


def bursts(base: float, peak: float, length_ms: int, period_ms: int) -> Curve:
    """End each period with a burst."""

    def curve(span_ms: int) -> Floats:
        quiet = np.arange(span_ms) % period_ms < period_ms - length_ms
        return np.where(quiet, base, peak)

    return Curve(curve)


def burst(base: float, peak: float, length_ms: int) -> Curve:
    """Put one burst in the middle."""

    def curve(span_ms: int) -> Floats:
        if length_ms >= span_ms:
            raise ValueError("the burst is longer than the measured time")
        before_ms = (span_ms - length_ms) // 2
        after_ms = span_ms - length_ms - before_ms
        return np.repeat([base, peak, base], [before_ms, length_ms, after_ms])

    return Curve(curve)


def fluctuate(high: float) -> Curve:
    """Fall to a third of the rate in the middle third of the time."""

    def curve(span_ms: int) -> Floats:
        third_ms = span_ms // 3
        return np.repeat([high, high / 3, high], [third_ms, span_ms - 2 * third_ms, third_ms])

    return Curve(curve)


def _hold(rates: Floats, span_ms: int) -> Floats:
    """Go on with the last rate to the end of the measured time."""
    return np.pad(rates, (0, span_ms - len(rates)), mode="edge")


def _due(rates: Floats) -> Ints:
    """Sum rates of milliseconds up to the records due by each; a fraction of one counts as one."""
    _refuse_too_many(float(rates.sum()) / 1000)
    parts = np.cumsum(np.rint(rates * (_PER_RECORD // 1000)).astype(np.int64))
    due: Ints = -(-parts // _PER_RECORD)
    return due


def _refuse_too_many(records: float) -> None:
    if records > MOST_RECORDS:
        raise ValueError(f"more than {MOST_RECORDS:,} records would be due")
