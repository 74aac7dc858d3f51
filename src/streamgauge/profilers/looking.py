"""One profiled time: each process is given to the first back end that can sample it."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from streamgauge.errors import NotReady
from streamgauge.probes.processes import read_processes
from streamgauge.profilers.census import ENDED, Census, Target, find_targets, group_of
from streamgauge.profilers.counters import Counters
from streamgauge.profilers.known import known
from streamgauge.profilers.procfs import Procfs
from streamgauge.profilers.py_spy import PySpy
from streamgauge.profilers.sampler import Backend, Refused, Sampling, Seen
from streamgauge.profiling.profile import ProcessSeen, ProfileRecord, ThreadCpu, write_profile
from streamgauge.profiling.stacks import Group, Sample, gather

Backends = Mapping[str, Sequence[type[Backend]]]
"""By kind of process, the best first."""
_numbers = count()
"""Of profiled times: the samples of one are not read yet when the next begins."""
_MATTERS_S = 0.1
"""CPU time of a process below which its stacks are not missed."""


class Looking:
    """Samples from `begin` to `end`; `write` turns it into a profile."""

    def __init__(
        self, backends: Backends, roots: Callable[[], Sequence[int]], folder: Path
    ) -> None:
        self._backends, self._folder = backends, folder
        self._given = roots
        self._raw = folder / f"raw-{next(_numbers)}"
        self._counters = Counters(self._raw)
        self._census = Census(self._roots, self._appeared)
        self._samplings: list[tuple[Target, Sampling]] = []
        self._by: dict[int, str] = {}
        """The back end of each process."""
        self._hz: dict[str, float] = {}
        """Of each back end that samples."""
        self._notes: dict[str, None] = {}
        self._began_s = self._ended_s = self._own_cpu_s = 0.0

    def begin(self) -> None:
        """Sample all present processes."""
        self.discard()  # what a killed one has left
        self._raw.mkdir(parents=True)
        found = {target.pid: target for target in find_targets(self._roots())}
        try:
            for target in sorted(found.values(), key=lambda each: each.kind == "java"):
                self._look_at(target, found)  # Java last: it begins at once, others take a while
        except BaseException:
            self._stop()
            raise
        counted = [pid for pid, target in found.items() if target.kind != "native"]
        self._counters.start(counted)
        self._began_s = time.monotonic()
        self._census.begin()

    def end(self) -> None:
        """Stop sampling; the samples are not read yet."""
        self._census.end()
        self._ended_s = time.monotonic()
        processes = read_processes()
        for _, sampling in self._samplings:
            if sampling.pid in processes:
                self._own_cpu_s += processes[sampling.pid].cpu_s
        self._stop()

    def write(self) -> None:
        """Read the samples, and write the profile."""
        taken, lost = Counter[int](), Counter[int]()
        stacks = gather(self._samples(taken, lost))
        record = ProfileRecord(
            hz=self._hz,
            seconds=self._ended_s - self._began_s,
            processes=list(self._seen(taken, lost)),
            threads=[
                ThreadCpu(process=group.process, thread=group.thread, cpu_s=cpu_s)
                for group, cpu_s in sorted(self._census.cpu_s().items())
            ],
            notes=list(self._notes),
            counters=self._counters.read(),
            own_cpu_s=self._own_cpu_s,
            overhead=known(sorted({*self._by.values()} - {Procfs.name})),
        )
        write_profile(record, stacks, self._folder)
        self.discard()

    def discard(self) -> None:
        """Remove the samples."""
        shutil.rmtree(self._raw, ignore_errors=True)

    def _samples(self, taken: Counter[int], lost: Counter[int]) -> Iterator[Sample]:
        """Yield the samples one by one, and count them by process."""
        for target, sampling in self._samplings:
            try:
                for seen in sampling.read():
                    (taken if seen.frames else lost)[seen.pid] += seen.count
                    yield self._sample(target, seen)
            except Refused as error:
                self._note(f"{target.name}: nothing was sampled: {error}")

    def _roots(self) -> list[int]:
        return [pid for pid in self._given() if pid != os.getpid()]

    def _stop(self) -> None:
        self._counters.stop()
        for _, sampling in self._samplings:
            sampling.stop()

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _look_at(self, target: Target, targets: Mapping[int, Target]) -> None:
        """Give a process to the first back end that accepts it."""
        if target.kind == "python" and self._follows(target, targets):
            self._by[target.pid] = PySpy.name
            return
        for backend in self._candidates(target):
            try:
                sampling = backend().start(target, self._raw)
            except (Refused, NotReady) as error:
                self._note(f"{target.name}: {backend.name} cannot sample it: {error}")
                continue
            self._by[target.pid] = backend.name
            if backend.hz:
                self._hz[backend.name] = backend.hz
            self._samplings.append((target, sampling))
            return

    def _candidates(self, target: Target) -> Sequence[type[Backend]]:
        """Return what may sample a process: for programs that others start, only CPU time."""
        if target.kind == "native" and target.pid not in self._roots():
            return (Procfs,)
        return self._backends[target.kind]

    def _follows(self, target: Target, targets: Mapping[int, Target]) -> bool:
        """Return whether py-spy already sees a process, as a descendant of another."""
        while (above := targets.get(target.parent)) is not None:
            if self._by.get(above.pid) == PySpy.name:
                return True
            target = above
        return False

    def _appeared(self, target: Target) -> None:
        """Sample a process that has appeared while others are already sampled."""
        known = {**self._census.targets, target.pid: target}
        if target.pid in self._by:
            return
        self._look_at(target, known)

    def _sample(self, target: Target, seen: Seen) -> Sample:
        of = self._census.targets.get(seen.pid, target)
        name: str | None = seen.name
        if seen.thread is not None:
            name = self._census.name(seen.pid, seen.thread)
        group = Group(of.name, ENDED) if name is None else group_of(of.name, name)
        return Sample(group, seen.frames, seen.count)

    def _seen(self, taken: Mapping[int, int], lost: Mapping[int, int]) -> Iterator[ProcessSeen]:
        for pid, target in sorted(self._census.targets.items()):
            cpu_s, backend = self._census.of_process(pid), self._by.get(pid, Procfs.name)
            if backend != Procfs.name or cpu_s >= _MATTERS_S:
                yield ProcessSeen(
                    pid=pid,
                    name=target.name,
                    backend=backend,
                    cpu_s=cpu_s,
                    samples=taken.get(pid, 0),
                    lost=lost.get(pid, 0),
                )
