"""The expected outputs of each query, computed from the recorded records.

Plain NumPy and Arrow, shared with no engine.
"""

from streamgauge.workloads.theodolite.answers.groups import GroupSums
from streamgauge.workloads.theodolite.answers.sliding import SlidingStatistics
from streamgauge.workloads.theodolite.answers.statistics import (
    EachStatistics,
    Statistics,
    StepwiseStatistics,
)
from streamgauge.workloads.theodolite.answers.stored import Rows, Stored

__all__ = [
    "EachStatistics",
    "GroupSums",
    "Rows",
    "SlidingStatistics",
    "Statistics",
    "StepwiseStatistics",
    "Stored",
]
