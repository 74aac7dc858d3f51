"""Purchases and ads of an online game: windowed aggregation and windowed join."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.workloads.rovio.workload import Rovio

__all__ = ["Rovio"]


def __getattr__(name: str) -> object:
    """Load the workload on demand: Spark's workers need only the queries."""
    if name == "Rovio":
        from streamgauge.workloads.rovio.workload import Rovio

        return Rovio
    raise AttributeError(name)
