"""OSPBench: flow and speed of traffic, measured lane by lane, joined and summed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.workloads.ospbench.workload import Ospbench

__all__ = ["Ospbench"]


def __getattr__(name: str) -> object:
    """Load the workload on demand: Spark's workers need only the queries."""
    if name == "Ospbench":
        from streamgauge.workloads.ospbench.workload import Ospbench

        return Ospbench
    raise AttributeError(name)
