"""What a task finds on the host where it runs; imports only what executors have."""

from __future__ import annotations

import platform
import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyspark

from streamgauge.services.given import measure_offset

_CONNECT_S = 5.0
TIME = struct.Struct("!d")
"""The answer of the clock: epoch seconds."""
Target = tuple[str, str, int]
"""What is to be reached: its name, host and port."""


@dataclass(frozen=True)
class Host:
    """What a task has found where it ran."""

    address: str
    python: str
    spark: str
    clock_offset_s: float
    """Its clock − ours."""
    unreachable: tuple[str, ...]
    """What it cannot connect to, each with the reason."""


def tell(
    harness: tuple[str, int], targets: Sequence[Target], numbers: Iterable[int]
) -> Iterator[Host]:
    """Yield what is found here, once for each number of a task."""
    for _ in numbers:
        with socket.create_connection(harness, _CONNECT_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ahead_s = measure_offset(partial(_ask_time, connection))
            address = str(connection.getsockname()[0])
        problems = (_unreachable(*target) for target in targets)
        yield Host(
            address,
            platform.python_version(),
            pyspark.__version__,
            -ahead_s,
            tuple(problem for problem in problems if problem),
        )


def _ask_time(connection: socket.socket) -> float:
    connection.sendall(b"?")
    received = b""
    while len(received) < TIME.size:
        received += connection.recv(TIME.size - len(received)) or _broken_off()
    return float(TIME.unpack(received)[0])


def _broken_off() -> bytes:
    raise ConnectionError("the harness does not send its time")


def _unreachable(name: str, host: str, port: int) -> str | None:
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except OSError as error:
        return f"{name} at {host}:{port} ({error.strerror or error})"
    return None
