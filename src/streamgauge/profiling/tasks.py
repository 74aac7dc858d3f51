"""Tasks: what a stack was doing, by ordered patterns over its frames.

Threads that do one thing only are recognized by their name. Any other stack is walked from its leaf
to its root; the first frame that any pattern fits decides, and among several patterns the first.
What nothing fits is walked once more, with broader patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from streamgauge.measure.statistics import Integers
from streamgauge.profiling.plan import Plan
from streamgauge.profiling.stacks import Group, Stacks

UNMATCHED = "unmatched"
_STAGE = re.compile(r"fused stage (\d+)")
_NONE = -1


@dataclass(frozen=True)
class Pattern:
    """One line of a task file."""

    task: str
    """May refer to groups of the pattern: `fused stage \\1`."""
    fits: re.Pattern[str]
    line: int

    def name(self, text: str) -> str | None:
        """Return the task when the pattern is found in a text."""
        found = self.fits.search(text)
        if found is None:
            return None
        return found.expand(self.task) if "\\" in self.task else self.task


@dataclass(frozen=True)
class Tasks:
    """A task file, read."""

    name: str
    title: str
    roles: tuple[Pattern, ...] = ()
    """By `process / thread`, otherwise by a process's name."""
    threads: tuple[Pattern, ...] = ()
    """By a thread's name: all that the thread does."""
    frames: tuple[Pattern, ...] = ()
    leaves: tuple[Pattern, ...] = ()
    """By the innermost frame only, when no pattern of frames fits it."""
    otherwise: tuple[Pattern, ...] = ()
    """By the frames of stacks that nothing else fits: broad ones."""
    operators: Mapping[str, str] = field(default_factory=dict)
    """What a plan's operator is a part of."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names in place of those of the patterns."""
    rest: str | None = None
    """The name in place of all others; None for their own."""

    def role(self, group: Group) -> str:
        """Return the role of threads of a process; the process's name when no pattern fits."""
        whole = f"{group.process} / {group.thread}"
        return _first(self.roles, whole) or _first(self.roles, group.process) or group.process

    def of_thread(self, group: Group, plan: Plan) -> str | None:
        """Return the task of all that threads of this name do, if they do one thing only."""
        found = _first(self.threads, group.thread)
        return None if found is None else self.told(found, plan)

    def told(self, task: str, plan: Plan) -> str:
        """Return the name under which a task is shown."""
        stage = _STAGE.fullmatch(task)
        if stage is not None:
            return self._stage(task, plan.get(int(stage[1]), ()))
        if task == UNMATCHED:
            return task
        return self.names.get(task, self.rest or task)

    def _stage(self, task: str, operators: Sequence[str]) -> str:
        """Name a fused stage by the task it holds, or by all of them if there are several."""
        held = list(dict.fromkeys(self.operators.get(each, each) for each in operators))
        if not held:
            return self.names.get(task, task)
        if len(held) == 1 and held[0] in self.operators.values():
            return held[0]
        return f"fused: {'+'.join(held)}"

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """All patterns that name tasks."""
        return (*self.threads, *self.frames, *self.leaves, *self.otherwise)


@dataclass(frozen=True, eq=False)
class Assigned:
    """Which task each stack belongs to."""

    tasks: tuple[str, ...]
    task: Integers
    """Of each stack, its number among the tasks."""
    unused: tuple[Pattern, ...]
    """Patterns that decided for no stack."""

    def number(self, task: str) -> int:
        """Return the number of a task; none has -1."""
        return self.tasks.index(task) if task in self.tasks else _NONE


def assign(stacks: Stacks, tasks: Tasks, plan: Plan) -> Assigned:
    """Find the task of each stack."""
    threads = _Found([group.thread for group in stacks.groups], tasks.threads)
    frames = _Found(stacks.frames, tasks.frames)
    leaves = _Found(stacks.frames, tasks.leaves)
    broad = _Found(stacks.frames, tasks.otherwise)
    every = (*threads.names, *frames.names, *leaves.names, *broad.names, UNMATCHED)
    by = (*threads.by, *frames.by, *leaves.by, *broad.by)
    first = np.cumsum([0, *(len(each.names) for each in (threads, frames, leaves, broad))])
    leaf = _at(stacks, stacks.starts[1:] - 1, np.diff(stacks.starts) > 0)
    choices = (
        (threads.of(stacks.group), first[0]),
        (np.where(frames.of(leaf) == _NONE, leaves.of(leaf), _NONE), first[2]),
        (frames.of(_innermost(stacks, frames.which)), first[1]),
        (broad.of(_innermost(stacks, broad.which)), first[3]),
    )
    which = np.full(len(stacks), first[4], dtype=np.int64)
    for found, start in reversed(choices):
        which = np.where(found == _NONE, which, found + start)
    shown: dict[str, int] = {}
    number = [shown.setdefault(tasks.told(name, plan), len(shown)) for name in every]
    used = {by[place] for place in np.unique(which).tolist() if place < len(by)}
    unused = tuple(each for each in tasks.patterns if each not in used)
    return Assigned(tuple(shown), np.array(number, dtype=np.int64)[which], unused)


class _Found:
    """The name that the first fitting pattern gives to each of some texts."""

    def __init__(self, texts: Sequence[str], patterns: Sequence[Pattern]) -> None:
        self.names: list[str] = []
        self.by: list[Pattern] = []
        """The pattern that gave each name."""
        seen: dict[tuple[str, Pattern], int] = {}
        self.which = np.full(max(1, len(texts)), _NONE, dtype=np.int64)
        together = _together(patterns)
        for place, text in enumerate(texts):
            if together is None or together.search(text) is None:
                continue
            for pattern in patterns:
                if (name := pattern.name(text)) is not None:
                    self.which[place] = self._number(seen, name, pattern)
                    break

    def of(self, places: Integers) -> Integers:
        """Return the numbers of the names at some places; none where there is no place."""
        return np.where(places == _NONE, _NONE, self.which[np.maximum(places, 0)])

    def _number(self, seen: dict[tuple[str, Pattern], int], name: str, by: Pattern) -> int:
        if (name, by) not in seen:
            seen[name, by] = len(self.names)
            self.names.append(name)
            self.by.append(by)
        return seen[name, by]


def _together(patterns: Sequence[Pattern]) -> re.Pattern[str] | None:
    """Return a pattern that fits when any of the patterns does: most frames fit none."""
    if not patterns:
        return None
    if any(re.search(r"\\\d|\(\?P[<=]|\(\?\w+\)", each.fits.pattern) for each in patterns):
        return re.compile("")
    return re.compile("|".join(f"(?:{each.fits.pattern})" for each in patterns))


def _innermost(stacks: Stacks, which: Integers) -> Integers:
    """Return the innermost frame of each stack that a pattern fits."""
    if len(stacks.ids) == 0:
        return np.full(len(stacks), _NONE, dtype=np.int64)
    places = np.where(which[stacks.ids] == _NONE, _NONE, np.arange(len(stacks.ids)))
    # A stack without frames ends where it starts: what is found there is another's.
    last = np.maximum.reduceat(places, np.minimum(stacks.starts[:-1], len(places) - 1))
    return _at(stacks, last, (last >= stacks.starts[:-1]) & (np.diff(stacks.starts) > 0))


def _at(stacks: Stacks, places: Integers, there: npt.NDArray[np.bool_]) -> Integers:
    """Return the frames at some places, if there are any."""
    if len(stacks.ids) == 0:
        return np.full(len(stacks), _NONE, dtype=np.int64)
    return np.where(there, stacks.ids[np.where(there, places, 0)], _NONE)


def _first(patterns: Iterable[Pattern], text: str) -> str | None:
    return next((name for each in patterns if (name := each.name(text)) is not None), None)
