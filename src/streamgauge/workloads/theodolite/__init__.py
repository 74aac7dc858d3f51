"""Theodolite: power consumption of many sensors, stored, summarized and summed up in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.workloads.theodolite.workload import Theodolite

__all__ = ["Theodolite"]


def __getattr__(name: str) -> object:
    """Load the workload on demand: Spark's workers need only the queries."""
    if name == "Theodolite":
        from streamgauge.workloads.theodolite.workload import Theodolite

        return Theodolite
    raise AttributeError(name)
