"""Each process goes to the first back end that accepts it, and what was refused is told."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.probes.processes import read_processes
from streamgauge.profilers.census import Target
from streamgauge.profilers.looking import Looking
from streamgauge.profilers.procfs import Procfs
from streamgauge.profilers.sampler import Refused, Sampling, Seen
from streamgauge.profiling.profile import Profile, read_profile

BURN = "import sys\nprint('on', flush=True)\nwhile True: sum(range(1000))"


class Forbidden:
    """A back end that may not look."""

    name = "forbidden"
    hz = 10.0

    def start(self, target: Target, folder: Path) -> Sampling:
        raise Refused("ptrace is not permitted")


class Toy:
    """A back end that has seen one thing."""

    name = "toy"
    hz = 10.0

    def start(self, target: Target, folder: Path) -> Sampling:
        return Taken(target.pid)


class Taken:
    pid = None

    def __init__(self, target: int) -> None:
        self._target = target

    def stop(self) -> None:
        pass

    def read(self) -> Iterator[Seen]:
        yield Seen(self._target, self._target, "", ("run", "parse"), 3)
        yield Seen(self._target, None, "", (), 1)


class Broken(Toy):
    name = "broken"

    def start(self, target: Target, folder: Path) -> Sampling:
        return Dead(target.pid)


class Dead(Taken):
    def read(self) -> Iterator[Seen]:
        raise Refused("it ended while it was sampled")


@pytest.fixture
def burning() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", BURN], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child.pid
        child.kill()


def look(pid: int, folder: Path, *python: type) -> Profile:
    looking = Looking({"python": python, "native": (Procfs,), "java": ()}, lambda: [pid], folder)
    looking.begin()
    begun_s = _cpu_s(pid)
    while pid in read_processes() and _cpu_s(pid) < begun_s + 0.05:
        pass
    looking.end()
    looking.write()
    found = read_profile(folder)
    assert found is not None
    return found


def _cpu_s(pid: int) -> float:
    found = read_processes().get(pid)
    return 0.0 if found is None else found.cpu_s


def test_the_next_one_takes_over_and_says_so(burning: int, tmp_path: Path) -> None:
    found = look(burning, tmp_path, Forbidden, Toy, Procfs)
    assert found.backends == ["toy"]
    assert found.record.notes == ["python -c: forbidden cannot sample it: ptrace is not permitted"]
    assert found.record.hz == {"toy": 10.0}
    (seen,) = found.record.processes
    assert (seen.name, seen.samples, seen.lost) == ("python -c", 3, 1)
    assert found.stacks.samples == 4, "a lost sample is CPU time as well"
    assert [each.thread for each in found.record.threads] == ["python"]


def test_without_any_stack_there_is_the_cpu_time(burning: int, tmp_path: Path) -> None:
    found = look(burning, tmp_path, Forbidden, Procfs)
    assert found.stacks.samples == 0
    assert sum(found.cpu_s.values()) > 0


def test_a_process_that_ended_meanwhile_leaves_a_note(burning: int, tmp_path: Path) -> None:
    found = look(burning, tmp_path, Broken)
    assert found.record.notes == ["python -c: nothing was sampled: it ended while it was sampled"]
    assert not list(tmp_path.glob("raw*"))


def test_what_an_interrupted_one_has_left_is_removed(burning: int, tmp_path: Path) -> None:
    for number in range(100):
        left = tmp_path / f"raw-{number}"
        left.mkdir()
        (left / "old").touch()
    assert look(burning, tmp_path, Toy).stacks.samples == 4


def test_nothing_to_look_at(tmp_path: Path) -> None:
    found = look(2**22 + 1, tmp_path, Toy)
    assert (found.record.processes, found.stacks.samples, found.backends) == ([], 0, [])
