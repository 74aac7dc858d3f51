import os
import subprocess
import sys

from streamgauge.probes.processes import RoleUsage, read_processes

BURN = """
import time
print(flush=True)
end = time.process_time() + 0.5  # the kernel counts in ticks: less than that may show
while time.process_time() < end:
    pass
input()
"""


def test_we_are_among_the_processes() -> None:
    processes = read_processes()
    assert processes[os.getpid()].parent == os.getppid()
    assert processes[os.getpid()].memory > 1_000_000


def test_a_childs_work_counts_for_its_role_alone() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", BURN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    usage = RoleUsage()
    roots = {"engine": [child.pid], "harness": [os.getpid()]}
    usage.sample(roots, at_s=100.0)
    while read_processes()[child.pid].cpu_s < 0.4:
        pass
    row = usage.sample(roots, at_s=101.0)
    child.communicate(b"\n")
    assert 0.3 < row["cpu.engine"] < 1.0
    assert row["memory.engine"] > 1_000_000
    assert row["memory.harness"] > 1_000_000


def test_a_role_without_processes_has_no_figures() -> None:
    row = RoleUsage().sample({"engine": [2**22 + 1]}, at_s=1.0)
    assert row == {}
