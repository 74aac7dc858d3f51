"""The expected outputs of ESPBench's queries, computed from the recorded inputs.

Plain NumPy and Arrow, shared with no engine. Each class fulfils `spec.answers.Answers`.
"""

from __future__ import annotations

from streamgauge.workloads.espbench.answers.lines import Errors, Identity, MachinePower
from streamgauge.workloads.espbench.answers.outliers import Outliers
from streamgauge.workloads.espbench.answers.processing_times import ProcessingTimes
from streamgauge.workloads.espbench.answers.statistics import Statistics

__all__ = ["Errors", "Identity", "MachinePower", "Outliers", "ProcessingTimes", "Statistics"]
