"""Check this machine: what a run needs, and what would spoil its numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from streamgauge.doctor import services, software
from streamgauge.doctor.findings import Finding, State
from streamgauge.doctor.plugins import broken_plugins
from streamgauge.doctor.system import system_findings
from streamgauge.errors import NotReady
from streamgauge.registry import GROUPS
from streamgauge.services import detached, runtime
from streamgauge.services.running import Options

__all__ = ["Finding", "State", "examine"]


def examine(folder: Path, *, start: bool, progress: Callable[[str], None]) -> list[Finding]:
    """Check everything.

    Args:
        folder: Where runs will be written.
        start: Whether to fetch what is needed, and to start and stop each service.
        progress: Gets a line for each step.
    """
    folders, findings = _folders(folder)
    findings = system_findings(folders) + findings
    if start:
        findings.append(services.removed_leftovers(detached.remove_leftovers()))
    else:
        findings.append(services.leftovers(detached.leftovers()))
    findings += broken_plugins()
    findings.append(software.java())
    # Starting the services also shows which of them do not load.
    findings += software.plugins(each for each in GROUPS if not (start and each == "services"))
    if not start:
        return findings + [software.jars_of(component) for component in software.components()]
    findings += [software.fetched_jars_of(each, progress) for each in software.components()]
    return findings + services.startable_services(Options(progress=progress))


def _folders(runs: Path) -> tuple[list[Path], list[Finding]]:
    """Return the folders that will be written to, and what is wrong with the others."""
    found, wrong = [], []
    makers = {"runs": lambda: runs, "data": runtime.data_dir, "cache": runtime.cache_dir}
    for name, make in makers.items():
        try:
            folder = make()
        except NotReady as error:
            wrong.append(Finding(f"folder of {name}", "missing", error.message, error.remedy))
            continue
        found.append(folder)
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        try:
            TemporaryDirectory(dir=there).cleanup()  # the only sure answer, also for root
        except OSError as error:
            wrong.append(_unwritable(name, there, error))
    return found, wrong


def _unwritable(name: str, folder: Path, error: OSError) -> Finding:
    return Finding(
        f"folder of {name}",
        "missing",
        f"cannot write to {folder}: {error.strerror}",
        "Choose another with --runs-dir or STREAMGAUGE_CACHE_DIR, or make it writable.",
    )
