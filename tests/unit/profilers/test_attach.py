"""Attaching to Java goes wrong in many ways; none of them ends the process."""

import os
import subprocess
import sys

import pytest

from streamgauge.profilers.attach import attach
from streamgauge.profilers.sampler import Refused


def test_a_process_that_would_be_ended_by_the_signal_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        with pytest.raises(Refused, match=f"{child.pid} cannot be attached to: it does not listen"):
            attach(child.pid, "jcmd", "VM.version")
        assert child.poll() is None
        child.communicate(b"\n")


def test_a_process_that_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        pass
    with pytest.raises(Refused, match="has ended"):
        attach(child.pid, "jcmd", "VM.version")
    assert os.getpid() != child.pid
