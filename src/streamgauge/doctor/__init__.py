"""Look at this machine: what a run needs, and what would spoil its numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamgauge.doctor import services, software
from streamgauge.doctor.findings import Finding, State
from streamgauge.doctor.system import system_findings
from streamgauge.services import NAMES, detached, embedded, runtime
from streamgauge.services.service import Options

__all__ = ["Finding", "State", "examine"]


def examine(folder: Path, *, start: bool, progress: Callable[[str], None]) -> list[Finding]:
    """Look at everything.

    Args:
        folder: Where runs will be written.
        start: Whether to fetch what is needed, and to start and stop each service.
        progress: Is told what is going on.
    """
    findings = system_findings([folder, runtime.data_dir(), runtime.cache_dir()])
    if start:
        findings.append(services.removed_leftovers(detached.remove_leftovers()))
    else:
        findings.append(services.leftovers(detached.leftovers()))
    findings.append(software.java())
    if not start:
        return findings + [software.jars_of(component) for component in software.COMPONENTS]
    findings += [software.fetched_jars_of(each, progress) for each in software.COMPONENTS]
    options = Options(progress=progress)
    return findings + [services.startable(embedded(name, options)) for name in NAMES]
