"""What was varied among trials, for tables and for names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from streamgauge.spec.trial import TrialSpec
from streamgauge.units import format_rate

RATE = "rate"
"""The factor that has a column of its own everywhere."""


def factors(specs: Iterable[TrialSpec]) -> list[str]:
    """Name all factors of some trials, in their order, except the rate."""
    names = dict.fromkeys(name for spec in specs for name in spec.factors)
    return [name for name in names if name != RATE]


def differing(specs: Sequence[TrialSpec]) -> list[str]:
    """Name the factors in which the trials differ."""
    return [name for name in factors(specs) if len({spec.factors.get(name) for spec in specs}) > 1]


def shape_of(spec: TrialSpec) -> str | None:
    """Return the load's shape as it was asked for; None for a constant rate.

    For a recording, the file's name is enough.
    """
    if spec.shape is None:
        return None
    name, _, what = spec.shape.partition(":")
    return f"{name}:{PurePath(what).name}" if name == "replay" else spec.shape


def named(spec: TrialSpec) -> str:
    """Name a trial so that people can tell it apart: query, rate and other varied factors."""
    varied = "".join(f", {name}={value}" for name, value in spec.factors.items() if name != RATE)
    shaped = f" ({shape_of(spec)})" if spec.shape else ""
    return f"{spec.query} at {format_rate(spec.rate)}{shaped}{varied}"
