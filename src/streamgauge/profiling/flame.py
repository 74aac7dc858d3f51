"""Flame graphs: stacks combined from their roots, as boxes with a width by samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamgauge.measure.statistics import Floats, Integers
from streamgauge.profiling.stacks import Stacks

_LEAST = 0.0005
"""Share of all below which a box is left out: less than a pixel of a page."""


@dataclass(frozen=True, eq=False)
class Flame:
    """The boxes of a flame graph, parents before their children, siblings by name."""

    names: tuple[str, ...]
    """Each once."""
    name: Integers
    """Of each box, the number of its name."""
    parent: Integers
    """Of each box, its parent's place; -1 for those at the bottom."""
    weight: Floats
    """Of each box with all above it."""
    task: Integers
    """Of each box, the number of the task with most of its weight."""
    by_task: Floats
    """Of each box, its weight by task."""
    depth: Integers

    @property
    def total(self) -> float:
        """Return the weight of all."""
        return float(self.weight[self.parent == -1].sum())


def flame(
    stacks: Stacks, task: Integers, tasks: int, weights: Floats, least: float = _LEAST
) -> Flame:
    """Combine stacks, on top of their process and thread.

    Args:
        stacks: What was sampled.
        task: Of each stack, the number of its task.
        tasks: How many tasks there are.
        weights: Of each stack, what it stands for: samples, or seconds.
        least: Share of all below which a box is left out.
    """
    layer = _Layers(stacks, task, max(1, tasks), weights, least * float(weights.sum()))
    for depth in range(2 + int(np.diff(stacks.starts).max(initial=0))):
        if not layer.add(depth):
            break
    return layer.flame()


class _Layers:
    """Grows a flame graph layer by layer; a stack whose box is too narrow goes no further."""

    def __init__(
        self, stacks: Stacks, task: Integers, tasks: int, weights: Floats, least: float
    ) -> None:
        self._stacks, self._task, self._weights = stacks, task, weights
        self._tasks, self._least = tasks, least
        names = {name: place for place, name in enumerate(dict.fromkeys(stacks.frames))}
        for group in stacks.groups:
            for name in (group.process, group.thread):
                names.setdefault(name, len(names))
        self._names = tuple(names)
        sides = np.array([[names[g.process], names[g.thread]] for g in stacks.groups])
        self._sides = sides.reshape(-1, 2)
        self._open = np.arange(len(stacks))
        self._box = np.full(len(stacks), -1, dtype=np.int64)
        self._boxes: list[tuple[Integers, Integers, Floats, int]] = []
        self._count = 0

    def add(self, depth: int) -> bool:
        """Add the boxes of one depth; return whether there were any."""
        deep = self._open[self._length(self._open) > depth]
        if len(deep) == 0:
            return False
        pairs = self._box[deep] * len(self._names) + self._name(deep, depth)
        there, place = np.unique(pairs, return_inverse=True)
        cells = np.bincount(
            place * self._tasks + self._task[deep],
            weights=self._weights[deep],
            minlength=len(there) * self._tasks,
        ).reshape(-1, self._tasks)
        wide = cells.sum(axis=1) >= max(self._least, 1e-12)
        number = np.cumsum(wide) - 1 + self._count
        parent, name = there // len(self._names), there % len(self._names)
        self._boxes.append((parent[wide], name[wide], cells[wide], depth))
        self._count += int(wide.sum())
        self._open = deep[wide[place]]
        self._box[self._open] = number[place[wide[place]]]
        return True

    def flame(self) -> Flame:
        """Return what has grown, with the names that are in it."""
        parent = np.concatenate([[], *(each[0] for each in self._boxes)]).astype(np.int64)
        name = np.concatenate([[], *(each[1] for each in self._boxes)]).astype(np.int64)
        empty = np.zeros((0, self._tasks))
        cells = np.concatenate([empty, *(each[2] for each in self._boxes)])
        depth = np.concatenate([[], *(np.full(len(each[0]), each[3]) for each in self._boxes)])
        used, number = np.unique(name, return_inverse=True)
        return Flame(
            names=tuple(self._names[place] for place in used.tolist()),
            name=number.astype(np.int64),
            parent=parent,
            weight=cells.sum(axis=1),
            task=cells.argmax(axis=1) if len(cells) else np.zeros(0, dtype=np.int64),
            by_task=cells,
            depth=depth.astype(np.int64),
        )

    def _length(self, which: Integers) -> Integers:
        length: Integers = np.diff(self._stacks.starts)[which] + 2
        return length

    def _name(self, which: Integers, depth: int) -> Integers:
        if depth < 2:
            sides: Integers = self._sides[self._stacks.group[which], depth]
            return sides
        names: Integers = self._stacks.ids[self._stacks.starts[which] + depth - 2]
        return names
