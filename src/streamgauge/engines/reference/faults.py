"""Wrong answers on demand: what the reference engine does to its right ones.

Each fault hits one output, or two in a row; the rest of the outputs stay right. They show that
the harness finds what it claims to find.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from streamgauge.errors import UsageError, unknown_name
from streamgauge.jobfile import JobSpec
from streamgauge.spec.form import FORMS
from streamgauge.spec.query import Query

DEFAULT_OUTPUT = 10
"""Which output is hit by default, from 0: the first ones may be all about markers."""
_UNKNOWN = b"9999999999"
"""Put before an id, it makes one that no record has."""


@dataclass(frozen=True)
class Output:
    """One output, and the exact answer before it was printed."""

    key: str
    value: bytes
    exact: bytes = b""


Pair = Sequence[Output]
Change = Callable[[Pair, bytes | None], list[Output]]
"""From two outputs in a row, and an input that has no output, to what is sent instead."""


@dataclass(frozen=True)
class Fault:
    """A fault and the output that it hits."""

    name: str
    output: int = DEFAULT_OUTPUT

    @classmethod
    def of(cls, job: JobSpec, query: Query) -> Fault | None:
        """Return the fault that a job asks for, if any."""
        return cls.parse(job.options["fault"], query) if "fault" in job.options else None

    @classmethod
    def parse(cls, text: str, query: Query) -> Fault:
        """Read `NAME` or `NAME:OUTPUT`.

        Raises:
            UsageError: There is no such fault, or this query cannot have it.
        """
        name, colon, number = text.partition(":")
        if name not in _EVERY:
            raise unknown_name("fault", name, _EVERY)
        if name not in possible(query):
            raise UsageError(
                f"fault {name!r} makes no sense for query {query.name}",
                f"Possible: {', '.join(sorted(possible(query)))}.",
            )
        if colon and not number.isdecimal():
            raise UsageError(
                f"{number!r} is not the number of an output", f"Write it like {name}:10."
            )
        return cls(name, int(number) if colon else DEFAULT_OUTPUT)


def injector(fault: Fault | None) -> Injector | None:
    """Return what applies the fault to a topic's outputs; None for a fault of another kind."""
    change = {**IN_TOPICS, **IN_COUNT_WINDOWS}.get(fault.name) if fault else None
    return Injector(change, fault.output) if fault and change else None


def possible(query: Query) -> set[str]:
    """Return the names of the faults that a query can have."""
    if query.output == "table":
        return {*IN_TABLES, *OF_PROCESS}
    in_windows = IN_COUNT_WINDOWS if query.answers.aligned > 1 else {}
    return {*IN_TOPICS, *in_windows, *OF_PROCESS}


class Injector:
    """Lets outputs through and applies its fault to one of them, or to two in a row."""

    def __init__(self, change: Change, output: int) -> None:
        self._change = change
        self._left = output
        self._pair: list[Output] = []
        self._done = False

    @property
    def hit(self) -> list[Output]:
        """Return the output that was hit, once it was."""
        return self._pair[:1]

    def __call__(self, outputs: Sequence[Output], passed_over: bytes | None) -> list[Output]:
        """Return what is to be sent; an output that waits for its neighbour comes later."""
        sent: list[Output] = []
        for output in outputs:
            if self._done or self._left > 0:
                self._left -= 1
                sent.append(output)
                continue
            self._pair.append(output)
            if len(self._pair) == 2:
                sent += self._change(self._pair, passed_over)
                self._done = True
        return sent


def _drop(pair: Pair, _: bytes | None) -> list[Output]:
    return [pair[1]]


def _repeat(pair: Pair, _: bytes | None) -> list[Output]:
    return [pair[0], pair[0], pair[1]]


def _alter_value(pair: Pair, _: bytes | None) -> list[Output]:
    value = pair[0].value
    digits = [found.start() for found in re.finditer(rb"\d", value)]
    at = min(digits, key=lambda place: abs(place - len(value) // 2))
    other = b"%d" % ((int(value[at : at + 1]) + 1) % 10)
    return [replace(pair[0], value=value[:at] + other + value[at + 1 :]), pair[1]]


def _alter_id(pair: Pair, _: bytes | None) -> list[Output]:
    return [replace(pair[0], value=_unknown(pair[0].value)), pair[1]]


def _exchange(pair: Pair, _: bytes | None) -> list[Output]:
    (key0, rest0), (key1, rest1) = (_split(output.value) for output in pair)
    return [replace(pair[0], value=key0 + rest1), replace(pair[1], value=key1 + rest0)]


def _extra(pair: Pair, passed_over: bytes | None) -> list[Output]:
    value = passed_over if passed_over is not None else _unknown(pair[0].value)
    return [pair[0], Output(key="", value=value), pair[1]]


def _reorder(pair: Pair, _: bytes | None) -> list[Output]:
    return [pair[1], pair[0]]


def _p_off(pair: Pair, _: bytes | None) -> list[Output]:
    """Move the printed number by 0.01, away from the exact one."""
    line, _comma, printed = pair[0].value.rpartition(b",")
    exact = float(pair[0].exact.rpartition(b",")[2])
    step = 0.01 if float(printed) >= exact else -0.01
    return [replace(pair[0], value=b"%b,%.2f" % (line, float(printed) + step)), pair[1]]


def _unknown(value: bytes) -> bytes:
    """Give an output an id that no record has."""
    start = _number_start(value)
    return value[:start] + _UNKNOWN + value[start:]


def _split(value: bytes) -> tuple[bytes, bytes]:
    """Split an output after the number that it begins with."""
    start = _number_start(value)
    digits = re.match(rb"\d*", value[start:])
    assert digits is not None
    end = start + digits.end()
    return value[:end], value[end:]


def _number_start(value: bytes) -> int:
    """Return where the number begins: the id in any of the forms, or a window's time."""
    return max(len(form.opening) for form in FORMS if value.startswith(form.opening))


IN_TOPICS: Mapping[str, Change | None] = {
    "drop": _drop,
    "repeat": _repeat,
    "alter-value": _alter_value,
    "alter-id": _alter_id,
    "exchange": _exchange,
    "extra": _extra,
    "late": _drop,  # and sent when the engine is stopped
    "reorder": _reorder,
}
IN_COUNT_WINDOWS: Mapping[str, Change | None] = {"p-off": _p_off, "shift": None}
"""`shift` moves all windows by one record, so it is done where windows are cut."""
IN_TABLES = ("unset", "early", "touch")
"""Done by the workload, which knows its tables."""
OF_PROCESS = ("die", "hang")
_EVERY = {*IN_TOPICS, *IN_COUNT_WINDOWS, *IN_TABLES, *OF_PROCESS}
