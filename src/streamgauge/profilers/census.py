"""CPU time of every thread of some process trees, as the kernel counts it."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from streamgauge.probes.processes import Usage, read_processes
from streamgauge.profiling.stacks import Group

ENDED = "(ended threads)"
"""Threads that began and ended between two looks; only the sum of their CPU time is known."""
_LEAST_REST_S = 0.05
_NUMBERS = re.compile(r"(?<![A-Za-z0-9])\d+")
_COMM = 15
"""Letters of a thread's name that the kernel keeps."""


@dataclass(frozen=True)
class Target:
    """A process to look at."""

    pid: int
    started: int
    name: str
    """Main class, module or program."""
    kind: str
    """java, python or native."""
    parent: int
    words: tuple[str, ...] = ()
    """Its command line."""


def group_of(process: str, thread: str) -> Group:
    """Return the group of a thread: names that differ only in numbers are counted together."""
    name = _NUMBERS.sub("", thread[:_COMM]).strip(" -#")
    return Group(process, name or "(no name)")


class Census:
    """Counts CPU time from one moment to another, once a second, so that no thread is missed."""

    def __init__(
        self,
        roots: Callable[[], Sequence[int]],
        appeared: Callable[[Target], None],
        period_s: float = 1.0,
    ) -> None:
        self.targets: dict[int, Target] = {}
        self._roots, self._appeared, self._period_s = roots, appeared, period_s
        self._threads: dict[tuple[int, int], _Counter] = {}
        self._processes: dict[int, _Counter] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._young: set[int] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="census", daemon=True)

    def begin(self) -> None:
        """Look for the first time, and keep looking."""
        self._look(first=True)
        self._thread.start()

    def end(self) -> None:
        """Look for the last time."""
        self._over.set()
        self._thread.join()
        self._look()

    def name(self, pid: int, tid: int) -> str | None:
        """Return the name that the kernel has for a thread."""
        return self._names.get((pid, tid))

    def of_process(self, pid: int) -> float:
        """Return the CPU time of a process, including ended threads."""
        return self._processes[pid].passed

    def cpu_s(self) -> dict[Group, float]:
        """Return the CPU time of each group of threads."""
        found: dict[Group, float] = {}
        known: dict[int, float] = {}
        for (pid, tid), counter in self._threads.items():
            if pid not in self.targets:  # it ended before it could be looked at
                continue
            group = group_of(self.targets[pid].name, self._names[pid, tid])
            found[group] = found.get(group, 0.0) + counter.passed
            known[pid] = known.get(pid, 0.0) + counter.passed
        for pid in self.targets.keys() & self._processes.keys():
            counter = self._processes[pid]
            rest_s = counter.passed - known.get(pid, 0.0)
            if rest_s > _LEAST_REST_S:
                group = Group(self.targets[pid].name, ENDED)
                found[group] = found.get(group, 0.0) + rest_s
        return {group: cpu_s for group, cpu_s in found.items() if cpu_s > 0}

    def _watch(self) -> None:
        while not self._over.wait(self._period_s):
            self._look()

    def _look(self, *, first: bool = False) -> None:
        processes = read_processes()
        for pid in trees(processes, self._roots()):
            usage = processes[pid]
            if pid not in self._processes:
                self._processes[pid] = _Counter(usage.cpu_s if first else 0.0)
            self._processes[pid].newest = usage.cpu_s
            self._count(pid, first=first)
            self._identify(pid, usage, first=first)

    def _identify(self, pid: int, usage: Usage, *, first: bool) -> None:
        """Find out what a process is; a young one may still become another program."""
        known = self.targets.get(pid)
        if known is None or pid in self._young:
            found = look_at(pid, usage)
            if found is not None:
                self.targets[pid] = found
        if known is None and not first:
            self._young.add(pid)
        elif pid in self._young:
            self._young.discard(pid)
            if pid in self.targets:
                self._appeared(self.targets[pid])

    def _count(self, pid: int, *, first: bool) -> None:
        with suppress(OSError):  # it has ended
            for entry in os.scandir(f"/proc/{pid}/task"):
                with suppress(OSError, ValueError, IndexError):
                    self._count_thread(pid, int(entry.name), first=first)

    def _count_thread(self, pid: int, tid: int, *, first: bool) -> None:
        place = f"/proc/{pid}/task/{tid}"
        with open(f"{place}/schedstat", "rb") as file:  # noqa: PTH123 - a third of pathlib's cost
            cpu_s = int(file.read().split()[0]) / 1e9
        if (pid, tid) not in self._threads:
            self._names[pid, tid] = Path(f"{place}/comm").read_text("utf-8", "replace").rstrip("\n")
            self._threads[pid, tid] = _Counter(cpu_s if first else 0.0)
        self._threads[pid, tid].newest = cpu_s


class _Counter:
    """A counter of the kernel that only grows."""

    def __init__(self, first: float) -> None:
        self.first = self.newest = first

    @property
    def passed(self) -> float:
        return max(0.0, self.newest - self.first)


def trees(processes: Mapping[int, Usage], roots: Iterable[int]) -> list[int]:
    """Return the processes of some trees, the roots first."""
    children: dict[int, list[int]] = {}
    for pid, usage in processes.items():
        children.setdefault(usage.parent, []).append(pid)
    found: dict[int, None] = {}
    left = [pid for pid in roots if pid in processes]
    while left:
        pid = left.pop(0)
        if pid not in found:
            found[pid] = None
            left += children.get(pid, [])
    return list(found)


def find_targets(roots: Iterable[int]) -> list[Target]:
    """Return what the processes of some trees are."""
    processes = read_processes()
    found = (look_at(pid, processes[pid]) for pid in trees(processes, roots))
    return [target for target in found if target is not None]


def look_at(pid: int, usage: Usage) -> Target | None:
    """Return what a process is; None when it has ended."""
    try:
        place = Path(f"/proc/{pid}")
        words = [os.fsdecode(word) for word in (place / "cmdline").read_bytes().split(b"\0")][:-1]
        program = os.fsdecode((place / "exe").readlink().name) if words else ""
    except OSError:
        return None
    kind = _kind(program)
    name = _name(kind, words) or program or f"process {pid}"
    return Target(pid, usage.started, name, kind, usage.parent, tuple(words))


def _kind(program: str) -> str:
    if program == "java":
        return "java"
    return "python" if program.startswith(("python", "pypy")) else "native"


def _name(kind: str, words: Sequence[str]) -> str:
    """Return what distinguishes a program from others of its language."""
    if kind == "java":
        return _main_class(words)
    if kind == "python":
        return _module(words)
    return Path(words[0]).name if words else ""


_WITH_VALUE = {"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"}


def _main_class(words: Sequence[str]) -> str:
    """Return the last part of the main class' name, or of the jar's."""
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif word in {"-jar", "-m", "--module"}:
            return Path(next(rest, "java")).name.rpartition("/")[2]
        elif not word.startswith(("-", "@")):
            return word.removesuffix(".java").rpartition(".")[2].rpartition("/")[2]
    return "java"


def _module(words: Sequence[str]) -> str:
    """Return the module, or the script's name."""
    rest = iter(words[1:])
    for word in rest:
        if word == "-m":
            return next(rest, "python")
        if word in {"-c", "-W", "-X"}:
            if word == "-c":
                return "python -c"
            next(rest, None)
        elif not word.startswith("-"):
            return f"python {Path(word).name}"
    return "python"
