"""Quantities as people write them: `20k/s`, `1h30m`, `64MiB`; in and out.

Inside the program a rate is records per second, a duration seconds, a size bytes.
"""

from __future__ import annotations

import math
import re

from streamgauge.errors import UsageError

CLOCK_S = 0.001
"""Resolution of append times, and so of every percentile computed from them."""
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?"
_RATE = re.compile(rf"({_NUMBER})\s*([kKMG]?)\s*(?:/\s*(s|sec|min|m|h))?")
_COUNT = re.compile(rf"({_NUMBER})\s*([kKMG]?)")
_DURATION_PART = re.compile(rf"({_NUMBER})\s*(us|µs|μs|ms|sec|s|min|m|h|d)\s*")
_SIZE = re.compile(rf"({_NUMBER})\s*([kKMGT]?)(i?)(B?)")

_THOUSANDS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_PER_S = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
# Seconds as a fraction, since 250 * 1e-3 and 250 / 1000 differ in the last bit.
_SECONDS: dict[str, tuple[int, int]] = {
    "us": (1, 10**6),
    "µs": (1, 10**6),
    "μs": (1, 10**6),
    "ms": (1, 1000),
    "s": (1, 1),
    "sec": (1, 1),
    "m": (60, 1),
    "min": (60, 1),
    "h": (3600, 1),
    "d": (86400, 1),
}


def parse_rate(text: str) -> float:
    """Read records per second from `20k/s`, `0.5/s`, `90/min` or a plain number."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise _bad("rate", text, "20k/s, 0.5/s or 1M/s")
    number, prefix, per = match.groups()
    return _finite("rate", text, float(number) * _THOUSANDS[prefix] / _PER_S[per or "s"])


def parse_count(text: str) -> float:
    """Read a number of things from `10k`, `1.5M` or a plain number."""
    match = _COUNT.fullmatch(text.strip())
    if match is None:
        raise _bad("number", text, "250, 10k or 1.5M")
    return _finite("number", text, float(match[1]) * _THOUSANDS[match[2]])


def parse_duration(text: str) -> float:
    """Read seconds from `5m`, `250ms`, `1h30m` or a plain number."""
    stripped = text.strip()
    if re.fullmatch(_NUMBER, stripped):
        return _finite("duration", text, float(stripped))
    total, position = 0.0, 0
    while match := _DURATION_PART.match(stripped, position):
        times, divisor = _SECONDS[match[2]]
        total += float(match[1]) * times / divisor
        position = match.end()
    if position == 0 or position < len(stripped):
        raise _bad("duration", text, "90s, 5m, 250ms or 1h30m")
    return _finite("duration", text, total)


def parse_size(text: str) -> int:
    """Read bytes from `64MiB` (powers of 1024), `1GB` (powers of 1000) or a plain number."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or (match[3] and not match[2]):
        raise _bad("size", text, "16384, 64MiB or 1GB")
    number, prefix, binary, _ = match.groups()
    factor = 1024 ** "_KMGT".index(prefix.upper()) if binary else _THOUSANDS[prefix]
    if number.isdigit():
        return int(number) * factor
    size = _finite("size", text, float(number) * factor)
    if size != int(size):
        raise UsageError(f"size {text!r} is not a whole number of bytes", "Write it like 16384.")
    return int(size)


def format_rate(per_s: float) -> str:
    """Write a rate so that `parse_rate` reads it back: `20k/s`, `0.5/s`."""
    return f"{format_count(per_s)}/s"


def format_count(count: float) -> str:
    """Write a number of things with at most four significant digits: `1.5M`, `20k`, `999`."""
    for prefix in ("G", "M", "k"):
        # Half a digit below the step, or 999,999 would read 1000k.
        if abs(count) >= _THOUSANDS[prefix] * 0.99995:
            return f"{_digits(count / _THOUSANDS[prefix], 4)}{prefix}"
    return _digits(count, 4)


def format_duration(seconds: float) -> str:
    """Write a duration for people: `1.2 ms`, `345 ms`, `5 min`, `1 h 30 min`."""
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    if seconds == 0:
        return "0 s"
    for limit_s, factor, unit in ((0.9995e-3, 1e6, "µs"), (0.9995, 1e3, "ms"), (99.95, 1, "s")):
        if seconds < limit_s:
            return f"{_digits(seconds * factor, 3)} {unit}"
    minutes, rest_s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else rest_s, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def format_latency(seconds: float) -> str:
    """Write a latency no finer than append times, which count milliseconds."""
    return "< 1 ms" if 0 <= seconds < CLOCK_S else format_duration(seconds)


def format_size(size: float) -> str:
    """Write a number of bytes in powers of 1024 for people: `64 MiB`, `1.5 GiB`."""
    for power, prefix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if abs(size) >= 1024**power * 0.9995:
            return f"{_digits(size / 1024**power, 3)} {prefix}B"
    return f"{_digits(size, 4)} B"


def _digits(number: float, significant: int) -> str:
    """Round to significant digits, without exponent and without trailing zeros."""
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    decimals = max(0, significant - 1 - math.floor(math.log10(abs(number))))
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _finite(kind: str, text: str, value: float) -> float:
    if not math.isfinite(value):
        raise UsageError(f"{kind} {text!r} is too large", "Write a smaller number.")
    return value


def _bad(kind: str, text: str, examples: str) -> UsageError:
    return UsageError(f"{text!r} is not a {kind}", f"Write it like {examples}.")
