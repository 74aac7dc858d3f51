"""Look at this machine: what a measurement needs, and what would spoil one."""

from streamgauge.doctor.findings import Finding, State
from streamgauge.doctor.system import system_findings

__all__ = ["Finding", "State", "system_findings"]
