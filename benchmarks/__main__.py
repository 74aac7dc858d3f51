"""`python -m benchmarks [NAME…]`: all that take seconds, or exactly the named ones."""

from __future__ import annotations

import pkgutil
import sys
from contextlib import nullcontext
from importlib import import_module

import benchmarks
from benchmarks.registry import BENCHMARKS, Benchmark, Measurement, merge
from streamgauge import machine
from streamgauge.errors import StreamgaugeError, unknown_name

_HEADER = ("benchmark", "value", "unit", "target", "")


def main(names: list[str]) -> int:
    """Run benchmarks, print their table, keep their values."""
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name != "__main__":
            import_module(f"benchmarks.{module.name}")
    if names == ["list"]:
        for each in BENCHMARKS.values():
            print(f"{each.name:<18} {each.what}{' (only when named)' if each.slow else ''}")
        return 0
    for name in names:
        if name not in BENCHMARKS:
            raise unknown_name("benchmark", name, BENCHMARKS)
    chosen = names or [each.name for each in BENCHMARKS.values() if not each.slow]
    measured = [each for name in chosen for each in _run(BENCHMARKS[name])]
    _print(measured)
    if not names:
        rest = " ".join(each.name for each in BENCHMARKS.values() if each.slow)
        print(f"\nThese take minutes, and run only when named (ONLY=…): {rest}")
    return 1 if any(each.met is False for each in measured) else 0


def _run(chosen: Benchmark) -> list[Measurement]:
    print(f"{chosen.name}: {chosen.what}", file=sys.stderr, flush=True)
    alone = nullcontext() if chosen.makes_runs else machine.exclusive(f"make bench {chosen.name}")
    with alone:
        measured = list(chosen.measure())
    merge(measured)  # at once, so that an interrupted `make bench` keeps what it has
    return measured


def _print(measured: list[Measurement]) -> None:
    said = {True: "met", False: "MISSED", None: ""}
    rows = [
        (each.name, f"{each.value:g}", each.unit, each.target or "", said[each.met])
        for each in measured
    ]
    widths = [max(len(row[column]) for row in [_HEADER, *rows]) for column in range(len(_HEADER))]
    for row in [_HEADER, *rows]:
        print(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        )


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StreamgaugeError as error:
        print(f"error: {error.message}\n  {error.remedy or ''}", file=sys.stderr)
        sys.exit(error.exit_code)
