"""What a profiler recorded of a trial: which processes, by which back end, with how much CPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from streamgauge.errors import UsageError
from streamgauge.files import write_atomically
from streamgauge.jobfile import PLAN
from streamgauge.measure.statistics import Floats
from streamgauge.profiling.overhead import Overhead
from streamgauge.profiling.plan import Plan, read_plan
from streamgauge.profiling.stacks import Group, Stacks, read_stacks, write_stacks
from streamgauge.spec.reading import first_fault
from streamgauge.spec.trial import Model, TrialResult

RECORD = "profile.json"
STACKS = "stacks.parquet"
_BY_CPU_TIME = ("async-profiler", "perf")
"""Back ends that sample by CPU time; others sample whatever seems to run at a moment."""


class ProcessSeen(Model):
    """One process that was observed."""

    pid: int
    name: str
    """Main class, module or program."""
    backend: str
    cpu_s: float
    """In the profiled time, as the kernel counts it."""
    samples: int = 0
    lost: int = 0
    """Samples without a usable stack."""


class ThreadCpu(Model):
    """Threads of one name in processes of one name."""

    process: str
    thread: str
    cpu_s: float


class ProfileRecord(Model):
    """The content of profile.json."""

    hz: dict[str, float]
    """Samples a second, by back end."""
    seconds: float
    """Length of the profiled time."""
    processes: list[ProcessSeen] = []
    threads: list[ThreadCpu] = []
    notes: list[str] = []
    """Fall-backs and losses, in words."""
    counters: dict[str, float] = {}
    """Hardware counters of all processes together; empty where there are none."""
    own_cpu_s: float = 0.0
    """CPU time of the profiler's own processes."""
    overhead: Overhead | None = None
    """What profiling costs on this machine; None if it has not been measured."""


@dataclass(frozen=True, eq=False)
class Profile:
    """A profile, read back."""

    record: ProfileRecord
    stacks: Stacks
    plan: Plan

    @property
    def backends(self) -> list[str]:
        """Return the back ends that were used, the one with the most CPU first."""
        cpu_s: dict[str, float] = {}
        for each in self.record.processes:
            cpu_s[each.backend] = cpu_s.get(each.backend, 0.0) + each.cpu_s
        return sorted(cpu_s, key=lambda name: -cpu_s[name])

    @property
    def cpu_s(self) -> dict[Group, float]:
        """Return the CPU time of each group of threads."""
        return {Group(each.process, each.thread): each.cpu_s for each in self.record.threads}

    def events(self, result: TrialResult) -> float | None:
        """Return how many input records of a trial there were meanwhile: of a backlog, all."""
        if result.spec.backlog:
            return result.inputs or None
        rate = result.metrics.get("rate.appended")
        return rate * self.record.seconds if rate else None

    @property
    def sampled(self) -> float | None:
        """Return samples × period by the kernel's CPU time, of what was sampled by CPU time."""
        seen = [each for each in self.record.processes if each.backend in _BY_CPU_TIME]
        cpu_s = sum(each.cpu_s for each in seen)
        if not cpu_s:
            return None
        taken_s = ((each.samples + each.lost) / self.record.hz[each.backend] for each in seen)
        return sum(taken_s) / cpu_s

    @property
    def weights(self) -> Floats:
        """Return the CPU time that each stack stands for: its share of its group's samples."""
        if len(self.stacks) == 0:
            return np.zeros(0)
        group, count = self.stacks.group, self.stacks.count
        seconds = np.array([self.cpu_s.get(each, 0.0) for each in self.stacks.groups])
        samples = np.bincount(group, weights=count, minlength=len(seconds))
        each = np.divide(seconds, samples, out=np.zeros_like(seconds), where=samples > 0)
        weights: Floats = each[group] * count
        return weights

    @property
    def lost(self) -> int:
        """Return how many samples have no usable stack."""
        return sum(each.lost for each in self.record.processes)


def write_profile(record: ProfileRecord, stacks: Stacks, folder: Path) -> None:
    """Write a profile into its folder."""
    write_stacks(stacks, folder / STACKS)
    write_atomically(folder / RECORD, record.model_dump_json(indent=1) + "\n")


def read_profile(folder: Path) -> Profile | None:
    """Read a profile; None if there is none, as with another package's profiler.

    Raises:
        UsageError: It cannot be read.
    """
    file = folder / RECORD
    if not file.exists():
        return None
    try:
        record = ProfileRecord.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        reason = first_fault(error) if isinstance(error, ValidationError) else str(error)
        raise UsageError(f"{file} is not a readable profile: {reason}") from None
    plan = folder.parent / PLAN
    text = plan.read_text("utf-8", "replace") if plan.exists() else ""
    return Profile(record, read_stacks(folder / STACKS), read_plan(text))
