"""The expected outputs of all stages, computed from the recorded inputs.

Plain NumPy and Arrow, shared with no engine. Each class fulfils `spec.answers.Answers`.
"""

from __future__ import annotations

from streamgauge.workloads.ospbench.answers.changes import Changes
from streamgauge.workloads.ospbench.answers.joined import Joined
from streamgauge.workloads.ospbench.answers.single import Copies, Parsed
from streamgauge.workloads.ospbench.answers.summed import Summed
from streamgauge.workloads.ospbench.answers.windows import Windows

__all__ = ["Changes", "Copies", "Joined", "Parsed", "Summed", "Windows"]
