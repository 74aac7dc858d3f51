"""What a workload's facts say about a query that computes windows; needs no Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from streamgauge.jobfile import JobSpec
from streamgauge.measure.window_methods import (
    ADDITIONS,
    METHOD,
    METHODS,
    OVERLAP,
    PER_SECOND,
    SIZE,
    SLIDE,
    Method,
    Windowed,
    additions,
    cheapest,
    choices,
    cost_us,
)

AUTO = "auto"
OPTIONS: Mapping[str, tuple[str, ...]] = {METHOD: (AUTO, *METHODS)}
ROCKSDB: Mapping[str, str] = {METHOD: "pairs"}
"""Spark keeps the state of Python only in RocksDB."""

Settled = Callable[[JobSpec, Mapping[str, str]], Mapping[str, str]]


def by_cost(planned: Callable[[JobSpec], Windowed]) -> Settled:
    """Return the function that chooses the method of a job.

    Args:
        planned: Returns what a job puts into windows.
    """

    def settled(job: JobSpec, chosen: Mapping[str, str]) -> Mapping[str, str]:
        windowed = planned(job)
        windows = windowed.windows
        method, found = cast("Method", chosen[METHOD]), {}
        if chosen[METHOD] == AUTO:
            among = choices(job.options.get("store"))
            method = cheapest(windowed, among)
            found = {f"{METHOD}.{AUTO}": _why(windowed, among)}
        added = additions(method, windowed)
        return {
            METHOD: method,
            OVERLAP: f"{windows.overlap:g}",
            ADDITIONS: f"{added:g}",
            SIZE: str(windows.size_ms),
            SLIDE: str(windows.slide_ms),
            PER_SECOND: f"{windowed.of_key:g}",
            **found,
        }

    return settled


def _why(windowed: Windowed, among: Sequence[Method]) -> str:
    costs = ", ".join(f"{name} {cost_us(name, windowed):.1f}" for name in among)
    windows = windowed.windows
    of_key = windowed.of_key * windows.slide_ms / 1000
    return (
        f"{windows.overlap:g} windows overlap, a key has {of_key:.3g} records in a slide;"
        f" estimated µs per record: {costs}"
    )
