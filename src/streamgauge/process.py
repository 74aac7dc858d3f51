"""Start, wait for and stop child processes; none outlives us.

A child is the leader of its own session, writes to a log file and dies with us by the
parent-death signal, even when we are killed with SIGKILL. That signal reaches the direct child
only, and follows the *thread* that started it; so children are started from the main thread, and
what a child itself leaves behind is found by the marker in its environment: see `leftovers`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Self

from streamgauge import launch
from streamgauge.errors import NotReady

OWNED = "STREAMGAUGE_OWNED"
GRACE_S = 10.0


def start(
    argv: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: str | None = None,
    affinity: Collection[int] | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
    death_signal: signal.Signals = signal.SIGKILL,
    pipe_stdin: bool = False,
    pipe_stdout: bool = False,
    detached: Path | None = None,
) -> Process:
    """Start a program in its own session and return at once.

    Args:
        argv: The program and its arguments; no secret belongs here.
        log: File to which stdout and stderr are appended.
        env: Variables to set on top of our own.
        cwd: Folder to start in.
        user: Name of the user to become; only root may ask for it.
        affinity: Numbers of the CPUs the program may use.
        stop_signal: What asks this program to end.
        death_signal: What the program gets when we die.
        pipe_stdin: Write to the child through `Process.stdin`.
        pipe_stdout: Read from the child through `Process.stdout`; stderr still goes to the log.
        detached: Let the child outlive us; it belongs to this folder and is a leftover once the
            folder is gone.

    Raises:
        NotReady: The program does not exist.
        RuntimeError: Called outside the main thread, whose end would kill the child.
    """
    if detached is None and threading.current_thread() is not threading.main_thread():
        raise RuntimeError("start children from the main thread: they die with their thread")
    command = [str(part) for part in argv]
    environment = {**os.environ, **(env or {}), OWNED: _marker(detached)}
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        raise NotReady(f"cannot start {command[0]}: there is no such program")
    options = {
        "parent": None if detached else os.getpid(),
        "death_signal": int(death_signal),
        "user": _ids(user) if user else None,
        "affinity": sorted(affinity) if affinity else None,
    }
    launcher = [sys.executable, "-I", "-S", launch.__file__, json.dumps(options)]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        child = subprocess.Popen(
            [*launcher, program, *command[1:]],
            stdin=subprocess.PIPE if pipe_stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipe_stdout else output,
            stderr=output,
            env=environment,
            cwd=cwd,
            start_new_session=True,
        )
    return Process(child, Path(command[0]).name, log, stop_signal)


class Process:
    """A child of ours; leaving its `with` block stops it."""

    def __init__(
        self, child: subprocess.Popen[bytes], name: str, log: Path, stop_signal: signal.Signals
    ) -> None:
        self.name = name
        self.log = log
        self.pid = child.pid
        self.stdin: IO[bytes] | None = child.stdin
        self.stdout: IO[bytes] | None = child.stdout
        self._child = child
        self.stop_signal = stop_signal

    @property
    def alive(self) -> bool:
        """Return whether the child still runs."""
        return not self.wait(0)

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the child runs."""
        self.wait(0)
        return self._child.returncode

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; return whether it came within the limit."""
        if self._child.returncode is None and _ended(self.pid, timeout_s):
            self._reap()
        return self._child.returncode is not None

    def stop(self, grace_s: float = GRACE_S) -> None:
        """Ask the group to end, then kill what is left of it."""
        if self._child.returncode is None:
            self._signal(self.stop_signal)
            try:
                self.wait(grace_s)
            finally:
                self.kill()

    def kill(self) -> None:
        """Kill the whole group and wait for the child's end."""
        if self._child.returncode is None:
            self._reap()

    def release(self) -> None:
        """Let a detached child go: from now on it is not ours to wait for."""
        self._child.returncode = 0  # otherwise Python warns about a child left running

    def log_tail(self, lines: int = 20) -> str:
        """Return the last lines of the log."""
        return log_tail(self.log, lines)

    def failure(self) -> str:
        """Describe how the child ended, with the end of its log."""
        return f"{self.name} {_describe(self.exit_code)}; end of {self.log}:\n{self.log_tail()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _signal(self, number: signal.Signals) -> None:
        # The child is not reaped yet, so its number cannot belong to another process.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _reap(self) -> None:
        """Kill what is left of the group, then take the child's exit code and close its pipes."""
        self._signal(signal.SIGKILL)
        self._child.wait()
        for pipe in (self.stdin, self.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def wait_until(
    ready: Callable[[], bool],
    process: Process,
    timeout_s: float,
    what: str,
    *,
    pause_s: float = 0.05,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Return once `ready()` holds.

    Raises:
        NotReady: The child ended first, or the limit passed; the message has the end of its log.
    """
    deadline = clock() + timeout_s
    while not ready():
        if not process.alive:
            raise NotReady(f"{what} did not start: {process.failure()}")
        if clock() > deadline:
            tail = process.log_tail()
            raise NotReady(
                f"{what} was not ready within {timeout_s:g} s; end of {process.log}:\n{tail}"
            )
        sleep(pause_s)


_asked_to_end = False


class Interrupt(KeyboardInterrupt):
    """A request to end, as Ctrl-C is.

    A class of our own, because Python remembers a plain KeyboardInterrupt that has passed through
    the `exec` of a text, as imports of data classes do, and then ends `python -m` by SIGINT,
    whatever the exit code.
    """


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this program as Ctrl-C does, so that every `with` is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _ask_to_end)


def end_undisturbed() -> None:
    """Let no signal change the exit code of a program that ends anyway."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def asked_to_end() -> bool:
    """Return whether a signal has asked this program to end."""
    return _asked_to_end


def end_if_asked() -> None:
    """Raise Interrupt again: one raised inside a library's callback is lost there."""
    if _asked_to_end:
        raise Interrupt


def _ask_to_end(_number: int, _frame: FrameType | None) -> None:
    global _asked_to_end
    _asked_to_end = True
    raise Interrupt


def log_tail(log: Path, lines: int = 20) -> str:
    """Return the last lines of a log file; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 300 * lines))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""


@dataclass(frozen=True)
class Seen:
    """A process as it was seen: its number and its start, since numbers are reused."""

    pid: int
    started: int
    """In clock ticks since boot."""

    @classmethod
    def of(cls, pid: int) -> Seen | None:
        """Look at a running process; None if there is none with that number."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        state, *fields = stat.rpartition(")")[2].split()
        return None if state in "ZX" else cls(pid, int(fields[18]))

    @property
    def alive(self) -> bool:
        """Return whether this very process still runs."""
        return Seen.of(self.pid) == self

    @property
    def marker(self) -> str | None:
        """Return the marker in its environment; None if there is none or we may not read it."""
        try:
            environ = Path(f"/proc/{self.pid}/environ").read_bytes()
        except OSError:
            return None
        prefix = f"{OWNED}=".encode()
        found = (v for v in environ.split(b"\0") if v.startswith(prefix))
        return next((os.fsdecode(v.removeprefix(prefix)) for v in found), None)

    def end(self, stop_signal: signal.Signals = signal.SIGTERM, grace_s: float = GRACE_S) -> None:
        """Ask this very process to end, then kill it; never another one with its number."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            for number in (stop_signal, signal.SIGKILL):
                if not self.alive:
                    return
                signal.pidfd_send_signal(handle, number)
                _readable(handle, grace_s)
        except ProcessLookupError:
            return
        finally:
            os.close(handle)


def leftovers() -> list[Seen]:
    """Find processes of ours, of this user, whose owner is gone."""
    return [seen for seen, marker in _marked() if _owner_gone(marker)]


def belongs(seen: Seen, folder: Path) -> bool:
    """Return whether a process was started detached for this folder."""
    marker = seen.marker
    if marker is not None:
        return marker == _marker(folder)
    # Root without the right to trace cannot read the environment of a child that changed its user.
    # It can read the arguments, which hold the folder's unique name.
    try:
        return os.fsencode(folder.name) in Path(f"/proc/{seen.pid}/cmdline").read_bytes()
    except OSError:
        return False


def _marked() -> Iterator[tuple[Seen, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (seen := Seen.of(int(entry.name))):
            marker = seen.marker
            if marker is not None and _is_here(seen.pid):
                yield seen, marker


def _is_here(pid: int) -> bool:
    """Return whether a process sees the processes and files that we see.

    Seen from outside its container, the owner of a living process looks gone.
    """
    try:
        return all(
            Path(f"/proc/{pid}/ns/{kind}").readlink() == Path(f"/proc/self/ns/{kind}").readlink()
            for kind in ("pid", "mnt")
        )
    except OSError:
        return False


def _marker(detached: Path | None) -> str:
    """Name the owner: `UID:pid:PID:STARTED`, or `UID:folder:PATH` for a detached process."""
    if detached is not None:
        return f"{os.getuid()}:folder:{detached}"
    us = Seen.of(os.getpid())
    assert us is not None
    return f"{os.getuid()}:pid:{us.pid}:{us.started}"


def _owner_gone(marker: str) -> bool:
    uid, kind, owner = (*marker.split(":", 2), "", "")[:3]
    if uid != str(os.getuid()):
        return False
    if kind == "folder":
        return not Path(owner).exists()
    pid, _, started = owner.partition(":")
    if kind != "pid" or not pid.isdigit() or not started.isdigit():
        return False
    return not Seen(int(pid), int(started)).alive


def _ids(user: str) -> tuple[int, int]:
    entry = pwd.getpwnam(user)
    return entry.pw_uid, entry.pw_gid


def _ended(pid: int, timeout_s: float | None) -> bool:
    """Wait for a child's end without reaping it."""
    handle = os.pidfd_open(pid)
    try:
        return _readable(handle, timeout_s)
    finally:
        os.close(handle)


def _readable(handle: int, timeout_s: float | None) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))


def _describe(exit_code: int | None) -> str:
    if exit_code is None:
        return "still runs"
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    return f"was ended by {signal.Signals(-exit_code).name}"
