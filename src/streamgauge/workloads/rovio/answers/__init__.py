"""The expected outputs of both queries, computed from the recorded inputs.

Plain NumPy and Arrow, shared with no engine. Each class fulfils `spec.answers.Answers`.
"""

from __future__ import annotations

from streamgauge.workloads.rovio.answers.aggregation import Sums
from streamgauge.workloads.rovio.answers.join import Pairs

__all__ = ["Pairs", "Sums"]
