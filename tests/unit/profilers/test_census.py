"""Which processes there are, what they are called, and how much CPU time their threads use."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from streamgauge.probes.processes import Usage
from streamgauge.profilers.census import (
    ENDED,
    Census,
    Target,
    find_targets,
    group_of,
    look_at,
    trees,
)

BURN = "import time\nend = time.time() + {}\nwhile time.time() < end: sum(range(1000))"


@pytest.mark.parametrize(
    ("thread", "name"),
    [
        ("GC Thread#1", "GC Thread"),
        ("Executor task launch worker for task 3", "Executor task l"),
        ("C2 CompilerThre", "C2 CompilerThre"),
        ("G1 Conc#0", "G1 Conc"),
        ("pool-12-thread-3", "pool--thread"),
        ("7", "(no name)"),
    ],
)
def test_threads_that_differ_in_numbers_alone_are_counted_together(thread: str, name: str) -> None:
    assert group_of("jvm", thread).thread == name


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (
            ["java", "-cp", "a:b", "-Xmx1g", "org.apache.spark.deploy.SparkSubmit", "x"],
            "SparkSubmit",
        ),
        (["java", "-jar", "/lib/tool.jar", "y"], "tool.jar"),
        (["java", "/tmp/Burn.java"], "Burn"),
        (["java", "-version"], "java"),
        (["python", "-u", "-m", "pyspark.daemon", "pyspark.worker"], "pyspark.daemon"),
        (["python", "-W", "error", "/srv/x/job.py"], "python job.py"),
        (["python", "-c", "pass"], "python -c"),
        (["python"], "python"),
        (["/usr/bin/bash", "-c", "x"], "bash"),
    ],
)
def test_a_process_is_called_by_what_distinguishes_it(words: list[str], name: str) -> None:
    from streamgauge.profilers.census import _name

    kind = {"java": "java", "python": "python"}.get(words[0], "native")
    assert _name(kind, words) == name


def test_trees_hold_all_that_is_below_their_roots() -> None:
    parents = {1: 0, 2: 1, 3: 2, 4: 1, 5: 0}
    processes = {pid: Usage(parent, 0, 0.0, 0) for pid, parent in parents.items()}
    assert trees(processes, [2, 4, 99]) == [2, 4, 3]
    assert trees(processes, [1, 2]) == [1, 2, 4, 3], "each once"


def test_this_process_is_python() -> None:
    (found,) = (each for each in find_targets([os.getpid()]) if each.pid == os.getpid())
    assert found.kind == "python"
    assert look_at(2**22 + 1, Usage(0, 0, 0.0, 0)) is None


def test_cpu_time_is_counted_by_thread_and_of_processes_that_appear() -> None:
    appeared: list[Target] = []
    census = Census(lambda: [os.getpid()], appeared.append, period_s=0.05)
    census.begin()
    end_s = time.monotonic() + 5
    with subprocess.Popen([sys.executable, "-c", BURN.format(0.7)]) as child:
        while not appeared and time.monotonic() < end_s:
            sum(range(10_000))
        worker = threading.Thread(target=lambda: sum(range(20_000_000)), name="worker")
        worker.start()
        worker.join()
        child.wait()
    census.end()
    found = census.cpu_s()
    assert [target.name for target in appeared] == ["python -c"]
    child_s = sum(cpu_s for group, cpu_s in found.items() if group.process == "python -c")
    assert 0.01 < child_s < 2
    of_processes = [census.of_process(pid) for pid in (os.getpid(), appeared[0].pid)]
    assert sum(found.values()) == pytest.approx(sum(of_processes), rel=0.4), ENDED


def test_a_process_that_is_gone_breaks_nothing(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        pass
    census = Census(lambda: [child.pid], lambda _: None, period_s=0.05)
    census.begin()
    census.end()
    assert census.cpu_s() == {}
