"""Yahoo streaming benchmark, extended: views of advertisements, counted by campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamgauge.workloads.ysb.workload import Ysb

__all__ = ["Ysb"]


def __getattr__(name: str) -> object:
    """Load the workload on demand: Spark's workers need only the queries."""
    if name == "Ysb":
        from streamgauge.workloads.ysb.workload import Ysb

        return Ysb
    raise AttributeError(name)
