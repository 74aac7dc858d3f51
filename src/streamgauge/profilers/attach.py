"""Speaks to a running Java process by HotSpot's attach protocol, as `jcmd` does, without a JDK."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

from streamgauge.profilers.sampler import Refused

_ANSWER_S = 20.0
_OPENS_S = 5.0
_ARGUMENTS = 3
_deaf: set[int] = set()
"""Processes that have not opened their socket; we do not wait for them again."""


def attach(pid: int, command: str, *arguments: str) -> str:
    """Send a command to a Java process, and return its answer.

    Raises:
        Refused: It does not listen to us.
    """
    place = _socket(pid)
    words = ["1", command, *arguments, *[""] * (_ARGUMENTS - len(arguments))]
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_ANSWER_S)
            line.connect(str(place))
            line.sendall(b"".join(word.encode() + b"\0" for word in words))
            answer = b"".join(iter(lambda: line.recv(65536), b"")).decode("utf-8", "replace")
    except OSError as error:
        raise Refused(f"the Java process {pid} does not answer: {error}") from None
    code, _, text = answer.partition("\n")
    if code.strip() != "0":
        raise Refused(f"the Java process {pid} refuses: {text.strip() or answer.strip()}")
    return text


def _socket(pid: int) -> Path:
    """Return where a process listens, and let it begin to do so."""
    inner = _number_inside(pid)
    place = _temporary(pid) / f".java_pid{inner}"
    try:
        if place.exists():
            return place
        if pid not in _deaf and _handles_quit(pid):
            wish = _wish(pid, f".attach_pid{inner}")
            try:
                os.kill(pid, signal.SIGQUIT)
                if _appears(place):
                    return place
            finally:
                wish.unlink(missing_ok=True)
    except OSError as error:
        raise Refused(f"cannot attach to the Java process {pid}: {error.strerror}") from None
    _deaf.add(pid)
    raise Refused(f"the Java process {pid} cannot be attached to: it does not listen")


def _wish(pid: int, name: str) -> Path:
    """Make the file that a process looks for on the signal: in its folder, or in /tmp."""
    try:
        wish = Path(f"/proc/{pid}/cwd") / name
        wish.touch()
    except OSError:
        wish = _temporary(pid) / name
        wish.touch()
    return wish


def _temporary(pid: int) -> Path:
    """Return the folder that is /tmp for a process."""
    return Path("/proc", str(pid), "root", "tmp")


def _appears(place: Path) -> bool:
    """Wait for the socket of a process."""
    end_s = time.monotonic() + _OPENS_S
    while not place.exists():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.02)
    return True


def _number_inside(pid: int) -> int:
    """Return the number that a process has in its own container."""
    for line in _status(pid):
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return pid


def _handles_quit(pid: int) -> bool:
    """Return whether a process handles SIGQUIT: any other would be ended by it."""
    for line in _status(pid):
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGQUIT - 1) & 1)
    return False


def _status(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError as error:
        raise Refused(f"the process {pid} has ended") from error
