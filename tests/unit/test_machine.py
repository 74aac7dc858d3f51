import os
import subprocess
import sys

import pytest

from streamgauge import machine
from streamgauge.errors import NotReady

ADDRESS = b"\0streamgauge-test-%d" % os.getpid()


def test_a_second_measurement_is_refused_and_told_of_the_first() -> None:
    with machine.exclusive("the first", ADDRESS):
        with pytest.raises(NotReady) as raised:
            with machine.exclusive("the second", ADDRESS):
                pass
    assert "the first" in raised.value.message
    assert str(os.getpid()) in raised.value.message


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
