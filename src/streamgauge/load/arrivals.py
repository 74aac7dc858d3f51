"""The arrivals of a trial: from `steps:10k/s@60s,50k/s@60s` to when each record is due."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

from streamgauge.errors import UsageError, unknown_name
from streamgauge.load import shapes
from streamgauge.load.recording import read_arrivals
from streamgauge.load.schedule import Constant, Schedule
from streamgauge.load.shapes import Shape, Spans
from streamgauge.spec.trial import TrialSpec
from streamgauge.units import (
    format_count,
    format_duration,
    format_rate,
    parse_duration,
    parse_rate,
)

LONGEST_S = 4 * 3600.0
"""A table has 8 bytes for each millisecond of the load."""
LOWEST_RATE, HIGHEST_RATE = 1e-4, 1e9
MOST_RECORDS = 1e11
"""Of a stream: up to this many, the arithmetic of intended times is exact."""
_TENTH_MS = 100
_SURGES = re.compile(
    r"(?P<rate>[^,]+),\s*(?P<factor>[0-9]*\.?[0-9]+)x(?:/(?P<period>[^/]+))?", re.ASCII
)
_SPEED = re.compile(r"(.+)@([0-9]*\.?[0-9]+)x")


def parse_shape(text: str) -> Shape:
    """Read `SHAPE:WHAT`.

    Raises:
        UsageError: There is no such shape, or it cannot be sent.
    """
    name, _, what = text.partition(":")
    if name.strip() not in FORMS:
        raise unknown_name("shape of a load", name, FORMS)
    form, read = FORMS[name.strip()]
    if not what.strip():
        raise UsageError(f"the load {text!r} is empty", f"Write it like {form}.")
    try:
        return read(what.strip())
    except ValueError as error:
        raise UsageError(f"the load {text!r}: {error}", f"Write it like {form}.") from None


def settle(text: str) -> str:
    """Make the text of a shape mean the same in every folder."""
    name, _, what = text.partition(":")
    return f"{name}:{Path(what).absolute()}" if name == "replay" and what else text


def schedule(spec: TrialSpec) -> Schedule:
    """Return when each record of a stream is due.

    Raises:
        UsageError: The load's shape cannot be sent in this trial.
    """
    if spec.shape is None:
        return Constant(spec.rate)
    shape, spans = parse_shape(spec.shape), spans_of(spec)
    _refuse_overlong(spec.shape, shape, spans)
    try:
        return shape.schedule(spans, spec.seed)
    except ValueError as error:
        raise UsageError(f"the load {spec.shape!r}: {error}") from None


def check(spec: TrialSpec) -> None:
    """Refuse a rate that is not usable.

    Raises:
        UsageError: It is too high or too low, or gives too many records.
    """
    if spec.rate < LOWEST_RATE:
        raise UsageError(
            f"a rate below {format_rate(LOWEST_RATE)} cannot be sent", "Raise the rate."
        )
    if spec.rate > HIGHEST_RATE:
        raise UsageError(
            f"a rate above {format_rate(HIGHEST_RATE)} cannot be sent", "Lower the rate."
        )
    if (wanted := spec.rate * spec.load_s) > MOST_RECORDS:
        raise UsageError(
            f"{format_rate(spec.rate)} for {format_duration(spec.load_s)} make"
            f" {format_count(wanted)} records: at most {format_count(MOST_RECORDS)} are possible",
            "Lower the rate, or shorten the trial.",
        )


def spans_of(spec: TrialSpec) -> Spans:
    """Cut a trial's load as the trial itself does."""
    seconds = (spec.warmup_s, spec.duration_s, spec.tail_s)
    return Spans(*(int(each * 1000) for each in seconds))


def backlog_s(text: str | None) -> float | None:
    """Return how long a load lasts before the engine is started; None for other loads."""
    shape = None if text is None else parse_shape(text)
    return shape.before_ms / 1000 if isinstance(shape, shapes.Backlog) else None


def records(spec: TrialSpec) -> int:
    """Count the records of each input stream, without markers."""
    return schedule(spec).due(spans_of(spec).total - 1)


def payloads(spec: TrialSpec) -> int:
    """Count the records of each input stream, markers included."""
    return records(spec) + 2 * spec.partitions


def least_rate(spec: TrialSpec) -> float:
    """Return the records per second of a partition, in the second with the fewest of them.

    Counted in nine tenths of a second, of which every second holds a whole one.
    """
    if spec.shape is None:
        return spec.rate / spec.partitions
    return fewest(spec, 9 * _TENTH_MS, _TENTH_MS) / 0.9 / spec.partitions


def fewest(spec: TrialSpec, span_ms: int, step_ms: int | None = None) -> float:
    """Return how many records a stream has in the span of that length with the fewest of them.

    Args:
        spec: Has the load.
        span_ms: Length of the span.
        step_ms: From one span that is looked at to the next; by default a fiftieth of it.
    """
    if spec.shape is None:
        return spec.rate * span_ms / 1000
    planned, total_ms = schedule(spec), spans_of(spec).total
    span_ms = min(span_ms, total_ms)
    begins = range(0, total_ms - span_ms + 1, step_ms or max(1, span_ms // 50))
    return min(planned.due(at + span_ms - 1) - planned.due(at - 1) for at in begins)


def profile(spec: TrialSpec, pieces: int = 1) -> list[float]:
    """Return the records per second and stream, over equal pieces of the measured time."""
    planned, spans = schedule(spec), spans_of(spec)
    edges = [spans.warmup + spans.measured * piece // pieces for piece in range(pieces + 1)]
    due = [planned.due(edge - 1) for edge in edges]
    return [
        1000 * (later - earlier) / max(1, end - begin)
        for (begin, end), (earlier, later) in zip(pairwise(edges), pairwise(due), strict=True)
    ]


def _refuse_overlong(text: str, shape: Shape, spans: Spans) -> None:
    if shape.length_ms is not None and shape.length_ms > spans.measured:
        raise UsageError(
            f"the load {text!r} lasts {format_duration(shape.length_ms / 1000)},"
            f" the measured time {format_duration(spans.measured / 1000)}",
            "Leave out --duration: it follows the load.",
        )
    if spans.total > LONGEST_S * 1000 and not isinstance(shape, shapes.Steady):
        raise UsageError(
            f"the load {text!r} takes {format_duration(spans.total / 1000)} in all:"
            f" at most {format_duration(LONGEST_S)} is possible for that shape",
            "Shorten it, or send at a constant rate.",
        )


def _steps(what: str) -> Shape:
    parts = [_rate_for(part) for part in what.split(",")]
    if not any(rate for rate, _ in parts):
        raise ValueError("it sends nothing")
    return shapes.steps(parts)


def _ramp(what: str) -> Shape:
    start, end, length_ms = _two_rates_for(what)
    return shapes.ramp(start, end, length_ms)


def _sine(what: str) -> Shape:
    low, high, period_ms = _two_rates_for(what)
    if low > high:
        raise ValueError("the lower rate comes first")
    return shapes.sine(low, high, period_ms)


def _bursts(what: str) -> Shape:
    base, comma, rest = what.partition(",")
    rest, every, period = rest.rpartition("/") if "/" in rest.partition("@")[2] else (rest, "", "")
    if not comma:
        raise ValueError("the rate of the burst is missing")
    peak, length_ms = _rate_for(rest)
    if not every:
        return shapes.burst(parse_rate(base), peak, length_ms)
    period_ms = _milliseconds(period)
    if period_ms <= length_ms:
        raise ValueError("there is no time between the bursts")
    return shapes.bursts(parse_rate(base), peak, length_ms, period_ms)


def _surges(what: str) -> Shape:
    found = _SURGES.fullmatch(what)
    if found is None:
        raise ValueError("a rate and a factor are needed")
    rate, factor = _some_rate(found["rate"]), float(found["factor"])
    period_ms = _milliseconds(found["period"] or "10s")
    if period_ms % 1000 or period_ms < 2000:
        raise ValueError("the period must be whole seconds, at least 2")
    if factor <= 0:
        raise ValueError("the factor must be above 0")
    return shapes.Surges(rate, factor, period_ms // 1000)


def _backlog(what: str) -> Shape:
    first, comma, rest = what.partition(",")
    if not comma:
        raise ValueError("the rate after the backlog is missing")
    rate, length_ms = _rate_for(first)
    if not rate:
        raise ValueError("the backlog is empty")
    return shapes.Backlog(rate, length_ms, parse_rate(rest))


def _replay(what: str) -> Shape:
    faster = _SPEED.fullmatch(what)
    name, speed = (faster[1], float(faster[2])) if faster else (what, 1.0)
    if speed <= 0:
        raise ValueError("the speed must be above 0")
    return shapes.Replay(read_arrivals(Path(name), speed))


def _two_rates_for(text: str) -> tuple[float, float, int]:
    """Read RATE..RATE@TIME."""
    rates, _, length = text.partition("@")
    start, dots, end = rates.partition("..")
    if not dots:
        raise ValueError("two rates are needed")
    low, high = parse_rate(start), parse_rate(end)
    if not low and not high:
        raise ValueError("it sends nothing")
    return low, high, _milliseconds(length)


def _rate_for(text: str) -> tuple[float, int]:
    """Read RATE@TIME."""
    rate, _, length = text.partition("@")
    return parse_rate(rate), _milliseconds(length)


def _some_rate(text: str) -> float:
    if not (rate := parse_rate(text)):
        raise ValueError("it sends nothing")
    return rate


def _milliseconds(text: str) -> int:
    if not text.strip():
        raise ValueError("the length is missing (@60s)")
    length_ms = round(parse_duration(text) * 1000)
    if length_ms < 1:
        raise ValueError(f"{text.strip()} is too short")
    if length_ms > LONGEST_S * 1000:
        raise ValueError(f"{text.strip()} is too long: at most {format_duration(LONGEST_S)}")
    return length_ms


FORMS: Mapping[str, tuple[str, Callable[[str], Shape]]] = {
    "constant": ("constant:10k/s", lambda what: shapes.Steady(_some_rate(what))),
    "poisson": ("poisson:10k/s", lambda what: shapes.Poisson(_some_rate(what))),
    "steps": ("steps:10k/s@60s,50k/s@60s", _steps),
    "ramp": ("ramp:1k/s..50k/s@5m", _ramp),
    "sine": ("sine:5k/s..15k/s@60s", _sine),
    "bursts": ("bursts:10k/s,50k/s@2s/60s, or bursts:10k/s,50k/s@2s for a single one", _bursts),
    "burst": ("burst:1k/s,34x/10s, or burst:1k/s,34x for one every 10 s", _surges),
    "backlog": ("backlog:6k/s@5m,1k/s", _backlog),
    "rested": ("rested:10k/s", lambda what: shapes.Rested(_some_rate(what))),
    "fluctuate": ("fluctuate:30k/s", lambda what: shapes.fluctuate(_some_rate(what))),
    "replay": ("replay:FILE.parquet, replay:FILE.csv or, ten times as fast, …@10x", _replay),
}
"""How each shape is written, and the function that reads it."""
