"""CPU time as executors report it themselves, where we cannot see it: on other hosts.

Spark's metrics of each executor are sent by its own Graphite sink, a line of text for each number.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Self

_GAUGE = "jvmCpuTime"
_NANOSECONDS = 1e9


class ReportedCpu:
    """Listens while a session lasts; it must exist before the session does."""

    def __init__(self, host: str) -> None:
        self._listener = socket.create_server((host, 0), backlog=256)
        self._host, self._port = host, int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    def settings(self) -> dict[str, str]:
        """Return the settings that let executors report."""
        sink = {
            "class": "org.apache.spark.metrics.sink.GraphiteSink",
            "host": self._host,
            "port": str(self._port),
            "period": "1",
            "unit": "seconds",
            "regex": f".*{_GAUGE}",
        }
        return {f"spark.metrics.conf.executor.sink.graphite.{k}": v for k, v in sink.items()}

    def seconds(self) -> Mapping[str, float]:
        """Return the CPU time of each executor's Java process so far."""
        with self._lock:
            return dict(self._seconds)

    def hear(self, line: str) -> None:
        """Take in a line: the number's name, with the executor's in it, its value, the time."""
        name, _, rest = line.partition(" ")
        parts = name.split(".")
        if len(parts) < 3 or parts[-1] != _GAUGE:
            return
        with suppress(ValueError), self._lock:
            self._seconds[parts[-3]] = float(rest.split(" ")[0]) / _NANOSECONDS

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                self.hear(line)
