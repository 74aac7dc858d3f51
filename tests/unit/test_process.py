import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from streamgauge import process
from streamgauge.errors import NotReady

SLEEP = ["sleep", "600"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "child.log"


def until(condition, limit_s: float = 10.0) -> bool:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


def run_owner(tmp_path: Path, body: str) -> subprocess.Popen[str]:
    """Start a Python program that starts children of its own and prints their pids."""
    header = """
        import os, sys, time
        from pathlib import Path
        from streamgauge import process
        log = Path(sys.argv[1])
        process.end_on_signals()
        def wait():  # a signal just before a sleep is seen only after it
            for _ in range(6000):
                time.sleep(0.1)
    """
    program = textwrap.dedent(header) + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "owned.log")],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_output_goes_to_the_log_and_the_exit_code_is_told(log: Path) -> None:
    child = process.start(["sh", "-c", "echo out; echo err >&2; exit 3"], log=log)
    assert child.wait(10)
    assert child.exit_code == 3
    assert log.read_text() == "out\nerr\n"
    assert "ended with exit code 3" in child.failure()
    assert "err" in child.failure()


def test_leaving_the_block_stops_the_child(log: Path) -> None:
    with process.start(SLEEP, log=log) as child:
        assert child.alive
        assert child.exit_code is None
    assert child.exit_code == -signal.SIGTERM
    assert process.Seen.of(child.pid) is None


def test_a_child_that_ignores_the_request_is_killed(log: Path) -> None:
    child = process.start(["sh", "-c", "trap '' TERM; echo up; sleep 600 & wait; wait"], log=log)
    assert until(lambda: "up" in child.log_tail())
    child.stop(grace_s=0.1)
    assert child.exit_code == -signal.SIGKILL


def test_grandchildren_end_with_the_group(log: Path) -> None:
    child = process.start(["sh", "-c", "sleep 600 & echo $!; wait"], log=log)
    assert until(lambda: child.log_tail().strip().isdigit())
    grandchild = process.Seen.of(int(child.log_tail()))
    assert grandchild is not None
    child.kill()
    assert until(lambda: not grandchild.alive)


def test_grandchildren_end_when_the_child_ends_by_itself(log: Path) -> None:
    child = process.start(["sh", "-c", "sleep 600 & echo $!"], log=log)
    assert child.wait(10)
    grandchild = process.Seen.of(int(child.log_tail()))
    assert grandchild is None or until(lambda: not grandchild.alive)


def test_a_child_speaks_through_pipes(log: Path) -> None:
    with process.start(["cat"], log=log, pipe_stdin=True, pipe_stdout=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"hello\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"hello\n"


def test_environment_affinity_and_folder_reach_the_child(tmp_path: Path) -> None:
    log = tmp_path / "mit Leerzeichen und Ümlaut" / "child.log"
    cpu = min(os.sched_getaffinity(0))
    code = "import os; print(os.environ['X'], sorted(os.sched_getaffinity(0)), os.getcwd())"
    child = process.start(
        [sys.executable, "-c", code], log=log, env={"X": "é"}, cwd=tmp_path, affinity=[cpu]
    )
    assert child.wait(10)
    assert log.read_text().strip() == f"é [{cpu}] {tmp_path}"


def test_a_child_of_another_user_dies_with_us_too(tmp_path: Path) -> None:
    # Only root can become somebody else.
    owner = run_owner(
        tmp_path,
        """
        user = "nobody" if os.getuid() == 0 else None
        child = process.start(["sh", "-c", "id -un; exec sleep 600"], log=log, user=user)
        process.wait_until(lambda: (user or "") in child.log_tail(), child, 10, "child")
        print(child.pid, flush=True)
        wait()
        """,
    )
    with owner:
        assert owner.stdout is not None
        child = process.Seen.of(int(owner.stdout.readline()))
        assert child is not None
        owner.kill()
    assert until(lambda: not child.alive)


def test_a_missing_program_is_named(log: Path) -> None:
    with pytest.raises(NotReady, match="no-such-program"):
        process.start(["no-such-program"], log=log)


def test_a_program_that_cannot_be_executed_tells_why(tmp_path: Path, log: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    child = process.start([broken], log=log)
    assert child.wait(10)
    assert "cannot start" in child.failure()


def test_other_threads_may_not_start_children(log: Path) -> None:
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            process.start(SLEEP, log=log)
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert "main thread" in str(errors[0])


def test_waiting_for_readiness_ends_with_the_log_when_the_child_dies(log: Path) -> None:
    child = process.start(["sh", "-c", "echo no config >&2; exit 1"], log=log)
    with pytest.raises(NotReady, match=r"(?s)broker did not start.*exit code 1.*no config"):
        process.wait_until(lambda: False, child, 10, "broker")


def test_waiting_for_readiness_ends_with_the_log_when_the_limit_passes(log: Path) -> None:
    with process.start(["sh", "-c", "echo still busy; exec sleep 600"], log=log) as child:
        assert until(lambda: "busy" in child.log_tail())
        ticks = iter([0.0, 3.0, 6.0])
        with pytest.raises(NotReady, match=r"(?s)not ready within 5 s.*still busy"):
            process.wait_until(
                lambda: False, child, 5, "broker", clock=lambda: next(ticks), sleep=lambda _: None
            )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_however_the_owner_ends(tmp_path: Path, number: signal.Signals) -> None:
    owner = run_owner(
        tmp_path,
        """
        with process.start(["sleep", "600"], log=log) as child:
            print(child.pid, flush=True)
            wait()
        """,
    )
    with owner:
        assert owner.stdout is not None
        child = process.Seen.of(int(owner.stdout.readline()))
        assert child is not None
        owner.send_signal(number)
    assert until(lambda: not child.alive)


def test_nothing_is_left_after_an_exception(log: Path) -> None:
    with pytest.raises(ZeroDivisionError), process.start(SLEEP, log=log) as child:
        _ = 1 / 0
    assert not child.alive


def test_what_a_killed_owner_left_is_found_and_ended(tmp_path: Path) -> None:
    # The child's own child has a session of its own: neither signal nor group reaches it.
    owner = run_owner(
        tmp_path,
        """
        child = process.start(["sh", "-c", "setsid sleep 600 & echo $!; wait"], log=log)
        process.wait_until(lambda: child.log_tail().strip().isdigit(), child, 10, "child")
        print(child.log_tail(), flush=True)
        wait()
        """,
    )
    with owner:
        assert owner.stdout is not None
        left = process.Seen.of(int(owner.stdout.readline()))
        assert left is not None
        assert left not in process.leftovers()
        owner.kill()
    assert until(lambda: left in process.leftovers())
    left.end(grace_s=5)
    assert until(lambda: not left.alive)


def test_a_detached_child_belongs_to_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "instance"
    folder.mkdir()
    owner = run_owner(
        tmp_path,
        f"""
        child = process.start(["sleep", "600"], log=log, detached=Path({str(folder)!r}))
        print(child.pid, flush=True)
        """,
    )
    with owner:
        assert owner.stdout is not None
        child = process.Seen.of(int(owner.stdout.readline()))
    assert owner.returncode == 0
    assert child is not None
    assert child.alive
    assert child not in process.leftovers()
    folder.rmdir()
    assert until(lambda: child in process.leftovers())
    child.end()
    assert until(lambda: not child.alive)


def test_a_number_that_belongs_to_somebody_else_is_not_touched(log: Path) -> None:
    with process.start(SLEEP, log=log) as child:
        seen = process.Seen.of(child.pid)
        assert seen is not None
        process.Seen(child.pid, seen.started - 1).end()
        assert child.alive


@pytest.mark.parametrize("marker", ["", "x", "0:pid:x", "0:pid:1", "4242:pid:1:1", "0:other:/x"])
def test_foreign_or_broken_markers_are_nobodys_leftovers(
    log: Path, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_marker", lambda detached: marker)
    with process.start(SLEEP, log=log) as child:
        assert process.Seen.of(child.pid) not in process.leftovers()


def test_launch_options_carry_no_environment(log: Path) -> None:
    with process.start(SLEEP, log=log, env={"SECRET": "s3cret"}) as child:
        assert b"s3cret" not in Path(f"/proc/{child.pid}/cmdline").read_bytes()
