"""`streamgauge watch` as a process of its own, and what a viewer asks it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

LIMIT_S = 30.0


class Answer(NamedTuple):
    status: int
    headers: Message
    body: bytes


@dataclass
class Watching:
    """A running `streamgauge watch`."""

    process: subprocess.Popen[str]
    port: int

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Ask for something and read all of the answer."""
        with closing(self._ask(path, method, **headers)) as connection:
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    def events(self, last_event_id: str | None = None) -> Iterator[tuple[str | None, Any]]:
        """Yield (id, message) of the stream until the server ends it."""
        headers = {"last_event_id": last_event_id} if last_event_id is not None else {}
        with closing(self._ask("/events", **headers)) as connection:
            stream = connection.getresponse()
            assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
            place = None
            for line in stream:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "id":
                    place = value
                elif name == "data":
                    yield place, json.loads(value)

    def _ask(self, path: str, method: str = "GET", **headers: str) -> HTTPConnection:
        """Send a request; underscores in header names stand for hyphens."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        connection.putrequest(method, path, skip_host="host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        return connection


@contextmanager
def watching(runs: Path, *arguments: str) -> Iterator[Watching]:
    command = [sys.executable, "-m", "streamgauge", "watch", "--runs-dir", str(runs), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), address
            yield Watching(process, int(address.rstrip("/").rpartition(":")[2]))
        finally:
            process.kill()
