import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from streamgauge import process
from streamgauge.errors import TrialInvalid
from streamgauge.load.links import SocketLink
from streamgauge.load.protocol import Command, Hello, Ready
from streamgauge.load.sender_handle import SenderHandle
from streamgauge.load.spark_senders import _await_all, _cluster, _hear


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[process.Process]:
    idle = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with process.start(idle, log=tmp_path / "driver.log", pipe_stdin=True) as child:
        yield child


def test_a_task_speaks_the_language_of_a_sender(
    ends: tuple[socket.socket, socket.socket], driver: process.Process
) -> None:
    ours, theirs = ends
    sender = SenderHandle(SocketLink(ours, driver), driver.pid)
    theirs.sendall(Ready(fifo=False).model_dump_json().encode() + b"\n")
    sender.ready(5)
    sender.begin(17)
    with theirs.makefile("r") as lines:
        assert Command.model_validate_json(next(lines)) == Command(do="begin", start_ms=17)
    assert sender.failure() is None


def test_a_task_that_hangs_up_is_missed(
    ends: tuple[socket.socket, socket.socket], driver: process.Process
) -> None:
    ours, theirs = ends
    sender = SenderHandle(SocketLink(ours, driver), driver.pid)
    theirs.close()
    assert "a task of the Spark job is gone" in (sender.failure() or "")
    with pytest.raises(TrialInvalid, match="the sender died"):
        sender.ready(5)


def test_a_job_that_ends_is_the_cause(
    ends: tuple[socket.socket, socket.socket], driver: process.Process
) -> None:
    sender = SenderHandle(SocketLink(ends[0], driver), driver.pid)
    driver.kill()
    assert "SIGKILL" in (sender.failure() or "")


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (Hello(token="secret", number=3, of=4).model_dump_json().encode() + b"\n", 3),
        (Hello(token="guess", number=3, of=4).model_dump_json().encode() + b"\n", None),
        (b"GET / HTTP/1.1\r\n\r\n", None),
        (b"x" * 5000, None),
        (b"", None),
    ],
)
def test_only_our_own_tasks_are_heard(
    ends: tuple[socket.socket, socket.socket], line: bytes, number: int | None
) -> None:
    ours, theirs = ends
    theirs.sendall(line)
    theirs.shutdown(socket.SHUT_WR)
    hello = _hear(ours, "secret")
    assert (hello and hello.number) == number


def test_the_first_task_tells_how_many_the_cluster_has_room_for(driver: process.Process) -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for number in (2, 0, 1):
            call = stack.enter_context(socket.create_connection(listener.getsockname()))
            hello = Hello(token="secret", number=number, of=3)
            call.sendall(hello.model_dump_json().encode() + b"\n")
        senders = _await_all(listener, driver, "secret", None)
        assert len(senders) == 3
        for sender in senders:
            sender.stop()


def test_the_address_is_on_the_way_to_the_cluster() -> None:
    assert _cluster("local[2]").host == "127.0.0.1"
    assert _cluster("spark://127.0.0.1:7077").host == "127.0.0.1"
    with pytest.raises(TrialInvalid, match="cannot reach the Spark cluster"):
        _cluster("spark://no-such-host.invalid:7077")
