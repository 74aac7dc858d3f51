"""ESPBench: manufacturing, sensor streams joined with business data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.workloads.espbench.workload import Espbench

__all__ = ["Espbench"]


def __getattr__(name: str) -> object:
    """Load the workload on demand: Spark's workers need only the queries."""
    if name == "Espbench":
        from streamgauge.workloads.espbench.workload import Espbench

        return Espbench
    raise AttributeError(name)
