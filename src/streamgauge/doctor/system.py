"""Is the machine large enough, and steady enough to measure on?

Each function takes what it judges as a parameter, so that a test can simulate any machine.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from streamgauge import machine
from streamgauge.doctor.findings import Finding, State
from streamgauge.units import format_size

GIB = 2**30
_STEADY_CLOCKS = {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen"}
_STEAL_FIELD = 7  # of the counters in /proc/stat's first line


def system_findings(folders: Sequence[Path]) -> list[Finding]:
    """Check operating system, Python, cores, memory, disks, clock and scheduling.

    Args:
        folders: Where runs, topics and what is fetched will be written.
    """
    return [
        operating_system(platform.system()),
        python(sys.version_info[:3]),
        cores(len(os.sched_getaffinity(0))),
        memory(machine.available_memory()),
        *disks(folders),
        clock_source(Path("/sys")),
        cpu_governor(Path("/sys")),
        realtime_priority(may_use_fifo()),
        steal(steal_share(Path("/proc/stat"))),
    ]


def operating_system(system: str) -> Finding:
    """Require Linux: supervision and probes need its parent-death signal and /proc."""
    value = f"{system} {platform.release()} {platform.machine()}"
    if system == "Linux":
        return Finding("operating system", "ok", value)
    return Finding("operating system", "missing", value, "Use Linux; a container will do.")


def python(version: tuple[int, ...]) -> Finding:
    """Require Python 3.11 or newer."""
    value = ".".join(map(str, version))
    if version >= (3, 11):
        return Finding("python", "ok", value)
    return Finding("python", "missing", value, "Install Python 3.11 or newer.")


def cores(count: int) -> Finding:
    """Count the cores we may use: sender, broker and engine share them."""
    return _graded(
        "cores",
        count,
        str(count),
        needed=2,
        good=4,
        remedy="Sender, broker and engine share the cores: two are needed, four or more is better.",
    )


def memory(available: int) -> Finding:
    """Require memory for broker, database and a Spark driver."""
    return _graded(
        "memory",
        available,
        f"{format_size(available)} available",
        needed=machine.NEEDED_MEMORY,
        good=6 * GIB,
        remedy="Free some: 2 GiB are needed, 6 GiB or more is better.",
    )


def disks(folders: Sequence[Path]) -> list[Finding]:
    """Check each disk once, no matter how many of the folders are on it."""
    places = {place.stat().st_dev: place for place in reversed([*map(_existing, folders)])}
    return [disk(place, shutil.disk_usage(place).free) for place in reversed(places.values())]


def disk(folder: Path, free: int) -> Finding:
    """Require room for the broker's log: 10k records/s of 205 B are 7 GB an hour."""
    return _graded(
        "disk",
        free,
        f"{format_size(free)} free at {folder}",
        needed=machine.NEEDED_DISK,
        good=10 * GIB,
        remedy="Free some, or work on another disk: 2 GiB are needed, 10 GiB or more is better.",
    )


def clock_source(sys_folder: Path) -> Finding:
    """Check whether the kernel's clock is one that is cheap and steady to read."""
    file = sys_folder / "devices/system/clocksource/clocksource0/current_clocksource"
    source = _read(file)
    if source is None:
        return Finding("clock source", "warn", "unknown", f"The kernel hides {file}.")
    if source in _STEADY_CLOCKS:
        return Finding("clock source", "ok", source)
    remedy = "Reading it is slow, which adds to latencies; prefer tsc where the machine has it."
    return Finding("clock source", "warn", source, remedy)


def cpu_governor(sys_folder: Path) -> Finding:
    """Check whether cores change their speed while we measure."""
    files = sys_folder.glob("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    governors = sorted({text for text in map(_read, files) if text})
    value = ", ".join(governors)
    if not governors:
        return Finding("cpu governor", "ok", "not controlled by this system")
    if governors == ["performance"]:
        return Finding("cpu governor", "ok", value)
    remedy = "Set it for steadier figures: cpupower frequency-set -g performance (as root)."
    return Finding("cpu governor", "warn", value, remedy)


def realtime_priority(permitted: bool) -> Finding:
    """Report whether the sender may run before everything else."""
    if permitted:
        return Finding("realtime priority", "ok", "SCHED_FIFO permitted")
    remedy = "The sender will be later at high rates; allow it: ulimit -r 1, or CAP_SYS_NICE."
    return Finding("realtime priority", "warn", "SCHED_FIFO not permitted", remedy)


def steal(share: float | None) -> Finding:
    """Judge the share of CPU time that the hypervisor gave to others."""
    if share is None:
        return Finding("steal", "warn", "unknown", "The kernel hides /proc/stat.")
    if share < 0.01:
        return Finding("steal", "ok", f"{share:.1%}")
    remedy = "Neighbours take CPU time: measure on a quieter machine, or look at the spread."
    return Finding("steal", "warn", f"{share:.1%}", remedy)


def may_use_fifo() -> bool:
    """Try SCHED_FIFO in a thread of its own: only trying gives a reliable answer."""
    answers: list[bool] = []

    def attempt() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            answers.append(False)
        else:
            answers.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return answers == [True]


def steal_share(
    stat: Path, sample_s: float = 0.5, sleep: Callable[[float], None] = time.sleep
) -> float | None:
    """Measure the share of CPU time stolen during a short sample."""
    before = _cpu_times(stat)
    sleep(sample_s)
    after = _cpu_times(stat)
    if before is None or after is None:
        return None
    total = sum(after) - sum(before)
    return (after[_STEAL_FIELD] - before[_STEAL_FIELD]) / total if total > 0 else 0.0


def _graded(
    name: str, amount: float, value: str, *, needed: float, good: float, remedy: str
) -> Finding:
    if amount >= good:
        return Finding(name, "ok", value)
    state: State = "warn" if amount >= needed else "missing"
    return Finding(name, state, value, remedy)


def _cpu_times(stat: Path) -> list[int] | None:
    text = _read(stat)
    if text is None:
        return None
    # guest and guest_nice, at the end, are already counted in user and nice
    times = [int(field) for field in text.splitlines()[0].split()[1:9]]
    return times if len(times) > _STEAL_FIELD else None


def _existing(folder: Path) -> Path:
    resolved = folder.resolve()
    return next(path for path in (resolved, *resolved.parents) if path.exists())


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return None
