"""This machine: what it is, and that only one measurement runs on it at a time."""

from __future__ import annotations

import getpass
import json
import os
import platform
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from streamgauge.errors import NotReady

NEEDED_MEMORY = 2 << 30
"""For broker, database, engine and validator together."""
SPARE_MEMORY = 256 << 20
"""With less than this left, the machine starts to swap or to kill processes."""
NEEDED_DISK = 2 << 30
"""In addition to the records of a trial."""
SPARE_DISK = 1 << 30

LOCK_NAME = "STREAMGAUGE_LOCK_NAME"
"""Variable with which our tests, which measure nothing, choose another lock."""
_held: set[bytes] = set()


@contextmanager
def exclusive(what: str, address: bytes | None = None) -> Iterator[None]:
    """Hold this machine's measurement lock, for all users; refuse when it is held.

    The lock is an abstract Unix socket: the kernel frees it when the process ends, for any reason.
    It answers each connection with what runs and since when. The process that holds it may take it
    again: a benchmark holds it while it makes runs.
    """
    address = address or f"\0{os.environ.get(LOCK_NAME, 'streamgauge-measurement')}".encode()
    if address in _held:
        yield
        return
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(address)
    except OSError:
        listener.close()
        raise NotReady(
            f"another measurement is running: {_ask(address)}",
            "wait until it ends; two at once would disturb each other",
        ) from None
    holder = {
        "what": what,
        "user": _user(),
        "pid": os.getpid(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    listener.listen()
    answering = threading.Thread(target=_answer, args=(listener, holder), daemon=True)
    answering.start()
    _held.add(address)
    try:
        yield
    finally:
        _held.discard(address)
        # Closing alone would not wake the thread in accept(), which keeps the address bound.
        listener.shutdown(socket.SHUT_RDWR)
        answering.join()
        listener.close()


def is_here(host: str) -> bool:
    """Return whether a host's name or address belongs to this machine."""
    if host in ("localhost", socket.gethostname(), socket.getfqdn()):
        return True
    interfaces = psutil.net_if_addrs().values()
    return any(host == each.address for addresses in interfaces for each in addresses)


def available_memory() -> int:
    """Return the bytes of memory that are available without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) << 10
    raise NotReady("the kernel does not report how much memory is available")


def describe() -> dict[str, str | int | float]:
    """Return the facts of this machine that a result depends on."""
    return {
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        "streamgauge": version("streamgauge"),
        "pyspark": version("pyspark"),
        "confluent-kafka": version("confluent-kafka"),
    }


def _answer(listener: socket.socket, holder: dict[str, str | int]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.sendall(json.dumps(holder).encode())


def _ask(address: bytes) -> str:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(2)
            client.connect(address)
            holder = json.loads(client.recv(4096))
    except (OSError, ValueError):
        return "it does not say which"
    return f"{holder['what']} of {holder['user']} (pid {holder['pid']}) since {holder['since']}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        return str(os.getuid())


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
