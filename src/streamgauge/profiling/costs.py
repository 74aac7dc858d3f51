"""From samples to costs: the CPU time of each task, with its uncertainty.

CPU time is the kernel's, by groups of threads; samples only divide it:
CPU(task) = Σ over groups of CPU(group) · samples(group, task) / samples(group).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from streamgauge.measure.statistics import Integers
from streamgauge.profiling.profile import Profile
from streamgauge.profiling.stacks import Group, Stacks
from streamgauge.profiling.tasks import UNMATCHED, Assigned, Pattern, Tasks, assign

UNSAMPLED = "not sampled"
"""The task of threads that used CPU time but were never sampled."""
_Z = 1.959964


@dataclass(frozen=True)
class Cost:
    """What one task cost in processes of one role."""

    task: str
    role: str
    cpu_s: float
    low_s: float
    """Of the 95 % interval."""
    high_s: float
    samples: int


@dataclass(frozen=True)
class Costs:
    """All costs of a profile."""

    costs: tuple[Cost, ...]
    """By role and task, the most expensive first."""
    unmatched: tuple[tuple[str, int], ...]
    """Leaf frames of stacks that no pattern fits, with their samples, the most frequent first."""
    unused: tuple[Pattern, ...]

    @property
    def cpu_s(self) -> float:
        """Return the CPU time of everything."""
        return sum(each.cpu_s for each in self.costs)

    @property
    def samples(self) -> int:
        """Return how many samples there are."""
        return sum(each.samples for each in self.costs)

    def by_task(self) -> list[Cost]:
        """Return the costs over all roles, the most expensive first."""
        return _merged(replace(each, role="") for each in self.costs)

    def by_role(self) -> list[Cost]:
        """Return the costs over all tasks, the most expensive first."""
        return _merged(replace(each, task="") for each in self.costs)


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, by Wilson's score; 0 to 1 for an empty sample."""
    if trials == 0:
        return 0.0, 1.0
    share, square = hits / trials, _Z * _Z
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    spread = math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    half = _Z * spread / (1 + square / trials)
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    high = 1.0 if hits == trials else min(1.0, middle + half)
    return low, high


def costs(profile: Profile, tasks: Tasks) -> Costs:
    """Return what each task cost."""
    assigned = assign(profile.stacks, tasks, profile.plan)
    counts = _counts(profile.stacks, assigned)
    found = [
        cost
        for group, cpu_s in profile.cpu_s.items()
        for cost in _of_group(group, cpu_s, counts.get(group, {}), tasks, profile)
    ]
    return Costs(
        costs=tuple(_merged(found)),
        unmatched=_unmatched(profile.stacks, assigned),
        unused=assigned.unused,
    )


def _counts(stacks: Stacks, assigned: Assigned) -> dict[Group, dict[str, int]]:
    """Count the samples of each group by task."""
    width = max(1, len(assigned.tasks))
    cells = np.bincount(
        stacks.group * width + assigned.task,
        weights=stacks.count,
        minlength=len(stacks.groups) * width,
    ).reshape(-1, width)
    return {
        group: {task: round(cells[row, place]) for place, task in enumerate(assigned.tasks)}
        for row, group in enumerate(stacks.groups)
    }


def _of_group(
    group: Group, cpu_s: float, counts: Mapping[str, int], tasks: Tasks, profile: Profile
) -> Iterable[Cost]:
    """Divide the CPU time of a group by its samples."""
    role = tasks.role(group)
    samples = sum(counts.values())
    if samples == 0:
        task = tasks.of_thread(group, profile.plan) or UNSAMPLED
        yield Cost(task, role, cpu_s, cpu_s, cpu_s, 0)
        return
    for task, hits in counts.items():
        if hits:
            low, high = wilson(hits, samples)
            yield Cost(task, role, cpu_s * hits / samples, cpu_s * low, cpu_s * high, hits)


def _merged(found: Iterable[Cost]) -> list[Cost]:
    """Add up costs of the same task and role; independent errors add up by their squares."""
    together: dict[tuple[str, str], list[Cost]] = {}
    for each in found:
        together.setdefault((each.task, each.role), []).append(each)
    merged = [_sum(each) for each in together.values()]
    return sorted(merged, key=lambda each: (-each.cpu_s, each.task, each.role))


def _sum(parts: list[Cost]) -> Cost:
    cpu_s = sum(each.cpu_s for each in parts)
    below = math.sqrt(sum((each.cpu_s - each.low_s) ** 2 for each in parts))
    above = math.sqrt(sum((each.high_s - each.cpu_s) ** 2 for each in parts))
    return Cost(
        task=parts[0].task,
        role=parts[0].role,
        cpu_s=cpu_s,
        low_s=max(0.0, cpu_s - below),
        high_s=cpu_s + above,
        samples=sum(each.samples for each in parts),
    )


def _unmatched(stacks: Stacks, assigned: Assigned) -> tuple[tuple[str, int], ...]:
    """Count the leaves of what no pattern fits."""
    chosen: Integers = np.flatnonzero(assigned.task == assigned.number(UNMATCHED))
    found: dict[str, int] = {}
    for each in stacks.chosen(chosen):
        leaf = each.frames[-1] if each.frames else f"({each.group.thread})"
        found[leaf] = found.get(leaf, 0) + each.count
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))
