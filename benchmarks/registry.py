"""Benchmarks by name, and the file that keeps their latest values."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

LATEST = Path(__file__).parent / "latest.json"


@dataclass(frozen=True)
class Measurement:
    """A value beside its target; `met` is None where there is no target."""

    name: str
    value: float
    unit: str
    target: str | None
    met: bool | None


def at_most(name: str, value: float, unit: str, limit: float) -> Measurement:
    """Compare a value with its upper limit."""
    return Measurement(name, round(value, 4), unit, f"≤ {limit:g}", value <= limit)


def at_least(name: str, value: float, unit: str, limit: float) -> Measurement:
    """Compare a value with its lower limit."""
    return Measurement(name, round(value, 4), unit, f"≥ {limit:g}", value >= limit)


@dataclass(frozen=True)
class Benchmark:
    """A function that measures one or a few things that belong together."""

    name: str
    measure: Callable[[], Iterable[Measurement]]
    slow: bool
    """Minutes rather than seconds: runs only when named."""
    makes_runs: bool
    """Its runs hold the machine's measurement lock themselves."""

    @property
    def what(self) -> str:
        """The first line of its docstring."""
        return (self.measure.__doc__ or "").partition("\n")[0]


BENCHMARKS: dict[str, Benchmark] = {}

_Measure = Callable[[], Iterable[Measurement]]


def benchmark(
    name: str, *, slow: bool = False, makes_runs: bool = False
) -> Callable[[_Measure], _Measure]:
    """Register a function as the benchmark `name`."""

    def register(measure: _Measure) -> _Measure:
        BENCHMARKS[name] = Benchmark(name, measure, slow, makes_runs)
        return measure

    return register


def merge(measurements: Iterable[Measurement], file: Path = LATEST) -> None:
    """Put new values in place of old ones of the same name; keep the rest."""
    kept = {str(each["name"]): each for each in _read(file)}
    kept |= {each.name: asdict(each) for each in measurements}
    draft = file.with_suffix(f".{os.getpid()}.tmp")
    ordered = [kept[name] for name in sorted(kept)]
    draft.write_text(json.dumps(ordered, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(file)


def _read(file: Path) -> list[dict[str, object]]:
    try:
        loaded = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return []
    return loaded if isinstance(loaded, list) else []
