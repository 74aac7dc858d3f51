import os
import subprocess
import sys

from streamgauge import machine

ADDRESS = b"\0streamgauge-test-%d" % os.getpid()


def test_a_second_measurement_is_refused_and_told_of_the_first() -> None:
    code = (
        "from streamgauge import errors, machine\n"
        f"try:\n    with machine.exclusive('the second', {ADDRESS!r}): pass\n"
        "except errors.NotReady as error:\n    print(error.message)"
    )
    with machine.exclusive("the first", ADDRESS):
        told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert b"the first" in told.stdout
    assert str(os.getpid()).encode() in told.stdout


def test_a_holder_may_take_the_lock_again() -> None:
    with machine.exclusive("a benchmark", ADDRESS):
        with machine.exclusive("its run", ADDRESS):
            pass
        told = machine._ask(ADDRESS)
    assert "a benchmark" in told


def test_the_lock_is_free_again_afterwards() -> None:
    for _ in range(3):
        with machine.exclusive("one", ADDRESS):
            pass


def test_a_killed_holder_frees_the_lock() -> None:
    code = (
        "import os, signal; from streamgauge import machine\n"
        f"with machine.exclusive('x', {ADDRESS!r}):\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    with machine.exclusive("next", ADDRESS):
        pass


def test_a_machine_is_described() -> None:
    facts = machine.describe()
    assert facts["cores"] == len(os.sched_getaffinity(0))
    assert int(facts["memory_bytes"]) > 2**28
